#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/softmax.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Along `axis` of a row-major array: log Σ exp of each line is taken off, then f.
Reference along(int axis, double (*f)(double)) {
  return [axis, f](const std::vector<Array>& in) {
    Array y = in[0];
    const std::int64_t n = y.shape[axis];
    std::int64_t step = 1;
    for (int k = axis + 1; k < y.shape.rank(); ++k) step *= y.shape[k];
    for (std::int64_t flat = 0; flat < element_count(y.shape); ++flat) {
      if (flat / step % n != 0) continue;
      double sum = 0;
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(flat + i * step); };
      for (std::int64_t i = 0; i < n; ++i) sum += std::exp(in[0].values[at(i)]);
      for (std::int64_t i = 0; i < n; ++i) y.values[at(i)] = f(in[0].values[at(i)] - std::log(sum));
    }
    return y;
  };
}

double identity(double x) { return x; }
double exponential(double x) { return std::exp(x); }

Function soft(std::int64_t axis) {
  return unary([axis](const Tensor& x) { return softmax(x, axis); });
}
Function log_soft(std::int64_t axis) {
  return unary([axis](const Tensor& x) { return log_softmax(x, axis); });
}

const Registration registration(
    {{"softmax", "last axis", {{{3, 5}}}, soft(-1), along(1, exponential)},
     {"softmax", "first axis", {{{3, 2, 4}}}, soft(0), along(0, exponential)},
     {"softmax", "longer than a vector", {{{2, 37}}}, soft(-1), along(1, exponential)},
     {"softmax", "empty", {{{0, 4}}}, soft(-1), along(1, exponential)},
     {"log_softmax", "last axis", {{{3, 5}}}, log_soft(-1), along(1, identity)},
     {"log_softmax", "middle axis", {{{2, 3, 4}}}, log_soft(1), along(1, identity)},
     {"log_softmax", "longer than a vector", {{{2, 37}}}, log_soft(-1), along(1, identity)}},
    {throws<IndexError>(
         "softmax", "axis",
         [] {
           softmax(zeros({2, 3}), 2);
         },
         "softmax: axis out of range, axis is 2 and the tensor has 2 axes; expected -2 <= axis < 2"),
     throws<DTypeError>(
         "log_softmax", "dtype", [] { log_softmax(zeros({2}, DType::i64)); },
         "log_softmax: dtype not supported, x is i64[2]; expected f32 or f64")});

}  // namespace

TEMPLATE_TEST_CASE("log_softmax is exact at large magnitudes", "", float, double) {
  Tensor x = tensor<TestType>({-800, -1050, 900, -1200}).set_requires_grad();
  const Tensor y = log_softmax(x);
  REQUIRE(y.to_vector<TestType>() == std::vector<TestType>{-1700, -1950, 0, -2100});
  backward(y, {.cotangent = ones({4}, dtype_of<TestType>)});
  REQUIRE(x.grad().to_vector<TestType>() == std::vector<TestType>{1, 1, -3, 1});
}

TEMPLATE_TEST_CASE("rows of -inf alone, or with +inf, are NaN", "", float, double) {
  const auto i = static_cast<TestType>(inf);
  for (const TestType v : softmax(tensor<TestType>({-i, -i})).template to_vector<TestType>())
    REQUIRE(std::isnan(v));
  for (const TestType v : log_softmax(tensor<TestType>({-i, -i})).template to_vector<TestType>())
    REQUIRE(std::isnan(v));
  for (const TestType v : softmax(tensor<TestType>({0, i})).template to_vector<TestType>())
    REQUIRE(std::isnan(v));
  REQUIRE(softmax(tensor<TestType>({-i, 1, 1})).template to_vector<TestType>() ==
          std::vector<TestType>{0, TestType(0.5), TestType(0.5)});
}

TEST_CASE("softmax lets NaN through at every place of vector and tail") {
  for (std::int64_t n = 1; n <= 33; ++n) {
    for (std::int64_t at = 0; at < n; ++at) {
      Tensor x = zeros({n});
      x.mutable_data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
      REQUIRE(std::isnan(softmax(x).to_vector<float>()[static_cast<std::size_t>(n - 1)]));
    }
  }
}

TEST_CASE("fused and composite backward of softmax agree") {
  Generator generator(2);
  for (const auto& f : {softmax, log_softmax}) {
    Tensor x = randn({4, 19}, generator, DType::f64).set_requires_grad();
    const Tensor y = f(x, -1);
    const GradOptions fused{.grad_outputs = {randn(y.shape(), generator, DType::f64)}, .retain_graph = true};
    GradOptions composite = fused;
    composite.create_graph = true;
    const auto a = grad(y, x, fused).to_vector<double>();
    const auto b = grad(y, x, composite).to_vector<double>();
    // Sums of 19 terms in another order.
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == Approx(b[i]).margin(1e-14));
  }
}
