#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/prod.h>
#include <heed/ops/sum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Line product(const Line& x) {
  double total = 1;
  for (const double v : x) total *= v;
  return {total};
}

Line running_product(const Line& x) {
  Line y;
  for (const double v : x) y.push_back(y.empty() ? v : y.back() * v);
  return y;
}

Line running_sum(const Line& x) {
  Line y;
  for (const double v : x) y.push_back(y.empty() ? v : y.back() + v);
  return y;
}

Function multiplied(std::int64_t axis, bool keepdim = false) {
  return unary([=](const Tensor& x) { return prod(x, axis, keepdim); });
}
Function cumulated(Tensor (*f)(const Tensor&, std::int64_t), std::int64_t axis) {
  return unary([=](const Tensor& x) { return f(x, axis); });
}

Input with_zeros(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 1, std::move(values)};
}

const Registration registration(
    {
        {"prod",
         "everything",
         {{{2, 3}}},
         unary([](const Tensor& x) { return prod(x); }),
         over_all([](const Line& x) { return product(x)[0]; })},
        {"prod", "last axis", {{{3, 5}}}, multiplied(-1), along(1, product, true)},
        {"prod", "first axis kept", {{{4, 3}}}, multiplied(0, true), along(0, product)},
        {"prod",
         "no, one and two zeros",
         {with_zeros({3, 3}, {2, 3, -1, 2, 0, 3, 0, 0.5, 0})},
         multiplied(1),
         along(1, product, true)},
        {"prod", "over nothing", {{{2, 0}}}, multiplied(1), elements({2}, {1, 1})},
        {"cumsum", "last axis", {{{2, 6}}}, cumulated(cumsum, 1), along(1, running_sum)},
        {"cumsum", "first axis", {{{4, 2}}}, cumulated(cumsum, 0), along(0, running_sum)},
        {"cumsum", "empty", {{{2, 0}}}, cumulated(cumsum, 1), elements({2, 0}, {})},
        {"cumprod", "last axis", {{{2, 5}}}, cumulated(cumprod, -1), along(1, running_product)},
        {"cumprod", "middle axis", {{{2, 4, 2}}}, cumulated(cumprod, 1), along(1, running_product)},
        {"cumprod",
         "one and two zeros",
         {with_zeros({2, 4}, {2, 0, -1, 3, 0, 2, 0, 1.5})},
         cumulated(cumprod, 1),
         along(1, running_product)},
        {"cumprod", "one element", {{{2, 1}}}, cumulated(cumprod, 1), along(1, running_product)},
    },
    {
        throws<IndexError>(
            "prod", "axis", [] { prod(zeros({2}), 1); },
            "prod: axis out of range, axis is 1 and the tensor has 1 axes; expected -1 <= axis < 1"),
        throws<DTypeError>(
            "cumsum", "boolean", [] { cumsum(zeros({2}, DType::boolean), 0); },
            "cumsum: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
        throws<DTypeError>(
            "cumprod", "boolean", [] { cumprod(zeros({2}, DType::boolean), 0); },
            "cumprod: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
    });

}  // namespace

TEST_CASE("the gradient of a product is exact with zeros") {
  CHECK(prod(zeros({0})).item<float>() == 1.0f);
  Tensor x = tensor({2.0, 0.0, 3.0});
  x.set_requires_grad();
  CHECK(grad(prod(x), x).to_vector<double>() == std::vector<double>{0, 6, 0});
  CHECK(grad(sum(cumprod(x, 0)), x).to_vector<double>() == std::vector<double>{1, 8, 0});
}

TEST_CASE("a running sum of many ones does not stick") {
  constexpr std::int64_t n = 17000000;
  CHECK(cumsum(ones({n}), 0).data<float>()[n - 1] == static_cast<float>(n));
}
