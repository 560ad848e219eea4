#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/clamp.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"clamp",
      "inside",
      {{{3, 11}, -0.9, 0.9}},
      unary([](const Tensor& x) { return clamp(x, -1.0, 1.0); }),
      elementwise([](double v) { return v; })},
     {"clamp",
      "above",
      {{{3, 11}, 1.2, 2.0}},
      unary([](const Tensor& x) { return clamp(x, {}, 1.0); }),
      elementwise([](double v) { return 1.0 + 0 * v; })},
     {"maximum",
      "apart",
      {{{3, 4}, 0.5, 2}, {{4}, -2, 0.4}},
      binary(maximum),
      elementwise([](double a, double b) { return std::max(a, b); })},
     {"minimum",
      "apart",
      {{{3, 4}, 0.5, 2}, {{4}, -2, 0.4}},
      binary(minimum),
      elementwise([](double a, double b) { return std::min(a, b); })}},
    {throws<DTypeError>(
         "clamp", "dtype", [] { clamp(zeros({2}, DType::i64), 0.0, 1.0); },
         "clamp: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "maximum", "dtypes", [] { maximum(zeros({2}), zeros({2}, DType::f64)); },
         "maximum: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "minimum", "dtypes", [] { minimum(zeros({2}), zeros({2}, DType::f64)); },
         "minimum: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)")});

}  // namespace

TEST_CASE("bounds pass the gradient, crossed bounds give the upper one, ties share") {
  Tensor x = tensor({-2.0, -1.0, 0.0, 1.0, 2.0}).set_requires_grad();
  backward(clamp(x, -1.0, 1.0), {.cotangent = ones({5}, DType::f64)});
  REQUIRE(x.grad().to_vector<double>() == std::vector<double>{0, 1, 1, 1, 0});
  REQUIRE(clamp(tensor({0.0}), 2.0, 1.0).item<double>() == 1);
  Tensor a = tensor({1.0, 3.0}).set_requires_grad();
  Tensor b = tensor({1.0, 2.0}).set_requires_grad();
  backward(maximum(a, b), {.cotangent = ones({2}, DType::f64)});
  REQUIRE(a.grad().to_vector<double>() == std::vector<double>{0.5, 1});
  REQUIRE(b.grad().to_vector<double>() == std::vector<double>{0.5, 0});
}

TEST_CASE("beside a NaN both operands of maximum and minimum get all of the cotangent") {
  const Tensor a = tensor({std::nan(""), 1.0}).set_requires_grad();
  const Tensor b = tensor({1.0, std::nan("")}).set_requires_grad();
  for (const Tensor& y : {maximum(a, b), minimum(a, b)}) {
    for (const Tensor& g : grad({&y, 1}, std::vector{a, b}, {.grad_outputs = {ones({2}, DType::f64)}})) {
      REQUIRE(g.to_vector<double>() == std::vector<double>{1, 1});
    }
  }
}

TEMPLATE_TEST_CASE("NaN survives clamp, maximum and minimum, whichever operand holds it", "", float, double) {
  using T = TestType;
  for (std::int64_t n = 1; n <= 33; ++n) {
    for (std::int64_t at = 0; at < n; ++at) {
      Tensor x = zeros({n}, dtype_of<T>);
      x.mutable_data<T>()[at] = std::numeric_limits<T>::quiet_NaN();
      const Tensor one = ones({n}, dtype_of<T>);
      for (const Tensor& y :
           {clamp(x, -1.0, 1.0), maximum(x, one), maximum(one, x), minimum(x, one), minimum(one, x)}) {
        const auto v = y.to_vector<T>();
        for (std::int64_t i = 0; i < n; ++i) REQUIRE(std::isnan(v[static_cast<std::size_t>(i)]) == (i == at));
      }
    }
  }
}
