#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// x [rows, n] → the given columns, in this order.
Reference columns(std::vector<std::size_t> wanted) {
  return [wanted](const std::vector<Array>& in) {
    const auto n = static_cast<std::size_t>(in[0].shape[1]);
    Array y{{in[0].shape[0], static_cast<std::int64_t>(wanted.size())}, {}};
    for (std::size_t row = 0; row < in[0].values.size() / n; ++row) {
      for (const std::size_t column : wanted) y.values.push_back(in[0].values[row * n + column]);
    }
    return y;
  };
}

Function sliced(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step) {
  return unary([=](const Tensor& x) { return slice(x, 1, start, stop, step); });
}

Reference first_axis(std::size_t begin, std::size_t end, Shape shape) {
  return [=](const std::vector<Array>& in) {
    Array y{shape, {}};
    for (std::size_t i = begin; i < end; ++i) y.values.push_back(in[0].values[i]);
    return y;
  };
}

const Registration registration(
    {
        {"slice", "start and stop", {{{2, 7}}}, sliced(1, 4, 1), columns({1, 2, 3})},
        {"slice", "a step", {{{2, 7}}}, sliced({}, {}, 3), columns({0, 3, 6})},
        {"slice", "from the end", {{{2, 7}}}, sliced(-3, {}, 1), columns({4, 5, 6})},
        {"slice", "backwards", {{{2, 7}}}, sliced({}, {}, -2), columns({6, 4, 2, 0})},
        {"slice", "backwards with bounds", {{{2, 7}}}, sliced(5, 1, -3), columns({5, 2})},
        {"slice", "one element of a longer step", {{{2, 3}}}, sliced(0, {}, 5), columns({0})},
        {"slice", "clipped", {{{2, 3}}}, sliced(-9, 9, 1), columns({0, 1, 2})},
        {"slice", "nothing", {{{2, 3}}}, sliced(2, 1, 1), columns({})},
        {"select",
         "first axis",
         {{{3, 2}}},
         unary([](const Tensor& x) { return select(x, 0, 1); }),
         first_axis(2, 4, {2})},
        {"select",
         "from the end",
         {{{3, 2}}},
         unary([](const Tensor& x) { return select(x, 0, -1); }),
         first_axis(4, 6, {2})},
        {"select",
         "to no axes",
         {{{3}}},
         unary([](const Tensor& x) { return select(x, 0, 2); }),
         first_axis(2, 3, {})},
        {"narrow",
         "second axis",
         {{{2, 5}}},
         unary([](const Tensor& x) { return narrow(x, 1, 2, 3); }),
         columns({2, 3, 4})},
        {"narrow",
         "nothing",
         {{{2, 5}}},
         unary([](const Tensor& x) { return narrow(x, -1, 5, 0); }),
         columns({})},
        {"flip",
         "one axis",
         {{{2, 4}}},
         unary([](const Tensor& x) { return flip(x, {-1}); }),
         columns({3, 2, 1, 0})},
        {"flip",
         "every axis",
         {{{2, 3}}},
         unary([](const Tensor& x) {
           return flip(x, {0, 1});
         }),
         [](const std::vector<Array>& in) {
           return Array{in[0].shape, {in[0].values.rbegin(), in[0].values.rend()}};
         }},
        {"flip",
         "no elements",
         {{{0, 2}}},
         unary([](const Tensor& x) { return flip(x, {0}); }),
         first_axis(0, 0, {0, 2})},
    },
    {
        throws<ValueError>(
            "slice", "step of 0", [] { slice(zeros({3}), 0, 0, 2, 0); },
            "slice: step is 0; expected a step other than 0"),
        throws<ShapeError>(
            "slice", "no axes", [] { slice(zeros({}), 0); },
            "slice: x has no axis to slice, x is []; expected one axis or more"),
        throws<IndexError>(
            "select", "index",
            [] {
              select(zeros({2, 3}), 1, 3);
            },
            "select: index out of range, index is 3 on axis 1 of [2, 3]; expected -3 <= index < 3"),
        throws<IndexError>(
            "narrow", "too long",
            [] {
              narrow(zeros({2, 3}), 1, 2, 2);
            },
            "narrow: positions out of range, start is 2 and length is 2 on axis 1 of [2, 3]; expected 0 <= "
            "start <= start + length <= 3"),
        throws<ValueError>(
            "flip", "an axis twice",
            [] {
              flip(zeros({2, 3}), {0, -2});
            },
            "flip: an axis is given twice, axes are [0, -2]; expected different axes"),
    });

}  // namespace

TEST_CASE("a strided slice sends its gradient to the elements it took") {
  const auto gradient = [](const Shape& shape, auto&& loss) {
    Tensor z = zeros(shape, DType::f64);
    z.set_requires_grad();
    return grad(loss(z), z).template to_vector<double>();
  };
  CHECK(gradient({2, 3}, [](const Tensor& z) {
          return sum(slice(z, 0, 0, {}, 2) * tensor({4.0, 5.0, 6.0})) +
                 sum(slice(z, 0, 1, {}, 2) * tensor({40.0, 50.0, 60.0}));
        }) == std::vector<double>{4, 5, 6, 40, 50, 60});
  CHECK(gradient({5}, [](const Tensor& z) {
          return sum(slice(z, 0, 0, {}, 4) * tensor({7.0, 9.0}));
        }) == std::vector<double>{7, 0, 0, 0, 9});
  CHECK(gradient({3}, [](const Tensor& z) { return sum(slice(z, 0, 0, {}, 3) * tensor({7.0})); }) ==
        std::vector<double>{7, 0, 0});
  CHECK(gradient({3}, [](const Tensor& z) { return sum(slice(z, 0, 1, 1)); }) ==
        std::vector<double>{0, 0, 0});
}

TEST_CASE("slices and sums of more than 2^31 elements") {
  const Tensor x = expand(ones({1}, DType::i64), {50000, 42950});
  REQUIRE(x.numel() == 2147500000);
  const Tensor last = slice(x, 0, -1);
  CHECK(last.shape() == Shape{1, 42950});
  CHECK(sum(last).item<std::int64_t>() == 42950);
  const Tensor rows = sum(x, {1});
  CHECK(rows.shape() == Shape{50000});
  CHECK(rows.data<std::int64_t>()[49999] == 42950);
  const Shape huge{std::int64_t{1} << 32, std::int64_t{1} << 32};
  CHECK_THROWS_AS(expand(x, huge), ShapeError);
  CHECK_THROWS_AS(zeros(huge), ShapeError);
}
