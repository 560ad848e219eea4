#include <algorithm>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/any_all.h>
#include <heed/ops/compare.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Line some(const Line& x) {
  return {std::any_of(x.begin(), x.end(), [](double v) { return v != 0; }) ? 1.0 : 0.0};
}
Line every(const Line& x) {
  return {std::all_of(x.begin(), x.end(), [](double v) { return v != 0; }) ? 1.0 : 0.0};
}

using Quantifier = Tensor (*)(const Tensor&, const Shape&, bool);

OpCase boolean_case(std::string op, std::string name, Input x, Quantifier f, const Shape& axes, bool keepdim,
                    Reference reference) {
  x.dtype = DType::boolean;
  return {.op = std::move(op),
          .name = std::move(name),
          .inputs = {std::move(x)},
          .function = unary([=](const Tensor& t) { return f(t, axes, keepdim); }),
          .reference = std::move(reference),
          .differentiable = false};
}

const Input mixed = {
    {2, 3}, 0, 0, {0, 0, 0, 1, 0, 1}};  // columns: false and true, false alone, false and true
const Input open = {{3, 2}, 0, 0, {1, 1, 1, 0, 1, 1}};

const Registration registration(
    {boolean_case("any", "everything", mixed, any, {}, false,
                  over_all([](const Line& x) { return some(x)[0]; })),
     boolean_case("any", "last axis", mixed, any, {-1}, false, along(1, some, true)),
     boolean_case("any", "first axis kept", mixed, any, {0}, true, along(0, some)),
     boolean_case("any", "of nothing", {{2, 0}}, any, {1}, false, elements({2}, {0, 0})),
     boolean_case("all", "everything", open, all, {}, false,
                  over_all([](const Line& x) { return every(x)[0]; })),
     boolean_case("all", "last axis", open, all, {-1}, false, along(1, every, true)),
     boolean_case("all", "first axis kept", open, all, {0}, true, along(0, every)),
     boolean_case("all", "both axes", open, all, {0, 1}, true, elements({1, 1}, {0})),
     boolean_case("all", "of nothing", {{2, 0}}, all, {1}, false, elements({2}, {1, 1}))},
    {throws<DTypeError>(
         "any", "dtype", [] { any(zeros({2})); }, "any: dtype not supported, x is f32[2]; expected boolean"),
     throws<IndexError>(
         "any", "axis", [] { any(zeros({2}, DType::boolean), {1}); },
         "any: axis out of range, axis is 1 and the tensor has 1 axes; expected -1 <= axis < 1"),
     throws<DTypeError>(
         "all", "dtype", [] { all(zeros({2}, DType::i64)); },
         "all: dtype not supported, x is i64[2]; expected boolean"),
     throws<ValueError>(
         "all", "an axis twice",
         [] {
           all(zeros({2, 2}, DType::boolean), {0, -2});
         },
         "all: an axis is given twice, axes are [0, -2]; expected different axes")});

}  // namespace

TEST_CASE("one element among many decides, wherever it stands and whatever the blocks", "[fault-48]") {
  for (const std::int64_t n : {1, 15, 16, 17, 100000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      CAPTURE(n, at);
      const Tensor one = eq(arange(0, n), at);
      CHECK(any(one).item<bool>());
      CHECK_FALSE(all(logical_not(one)).item<bool>());
      CHECK(all(one).item<bool>() == (n == 1));
      CHECK(any(logical_not(one)).item<bool>() == (n > 1));
    }
  }
}
