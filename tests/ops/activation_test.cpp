#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/activation.h>
#include <heed/ops/concat.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

double logistic(double v) { return 1 / (1 + std::exp(-v)); }
double gelu_exact(double v) { return 0.5 * v * std::erfc(-v / std::numbers::sqrt2); }
double gelu_by_tanh(double v) {
  return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
}
double gelu_by_logistic(double v) {  // the same without cancellation
  return v * logistic(2 * std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v));
}

const Registration registration({{"sigmoid",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return sigmoid(x); }),
                                  elementwise([](double v) { return logistic(v); })},
                                 {"tanh",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return tanh(x); }),
                                  elementwise([](double v) { return std::tanh(v); })},
                                 {"erf",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return erf(x); }),
                                  elementwise([](double v) { return std::erf(v); })},
                                 {"relu",
                                  "plain",
                                  {{{3, 11}, 0.2, 2.0}},
                                  unary([](const Tensor& x) { return relu(x); }),
                                  elementwise([](double v) { return v; })},
                                 {"relu",
                                  "below zero",
                                  {{{3, 11}, -2.0, -0.2}},
                                  unary([](const Tensor& x) { return relu(x); }),
                                  elementwise([](double v) { return 0 * v; })},
                                 {"silu",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return silu(x); }),
                                  elementwise([](double v) { return v * logistic(v); })},
                                 {"gelu",
                                  "plain",
                                  {{{3, 11}, -3.0, 3.0}},
                                  unary([](const Tensor& x) { return gelu(x); }),
                                  elementwise([](double v) { return gelu_exact(v); })},
                                 {"gelu",
                                  "by tanh",
                                  {{{3, 11}, -3.0, 3.0}},
                                  unary([](const Tensor& x) { return gelu(x, Gelu::tanh); }),
                                  elementwise([](double v) { return gelu_by_tanh(v); })}},
                                {throws<DTypeError>(
                                     "sigmoid", "dtype", [] { sigmoid(zeros({2}, DType::i64)); },
                                     "sigmoid: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "tanh", "dtype", [] { tanh(zeros({2}, DType::i64)); },
                                     "tanh: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "erf", "dtype", [] { erf(zeros({2}, DType::i64)); },
                                     "erf: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "relu", "dtype", [] { relu(zeros({2}, DType::i64)); },
                                     "relu: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "silu", "dtype", [] { silu(zeros({2}, DType::i64)); },
                                     "silu: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "gelu", "dtype", [] { gelu(zeros({2}, DType::i64)); },
                                     "gelu: dtype not supported, x is i64[2]; expected f32 or f64")});

}  // namespace

TEMPLATE_TEST_CASE("gelu is exact in its tails", "", float, double) {
  using T = TestType;
  const Tensor x = tensor<T>({-6});
  // Five digits are given.
  REQUIRE(gelu(x).item<T>() == Approx(-5.9195e-09).epsilon(1e-4));
  REQUIRE(gelu(x, Gelu::tanh).item<T>() == Approx(-8.4396e-11).epsilon(1e-4));
}

TEMPLATE_TEST_CASE("NaN survives relu at every place of vector and tail", "", float, double) {
  using T = TestType;
  for (std::int64_t n = 1; n <= 33; ++n) {
    for (std::int64_t at = 0; at < n; ++at) {
      Tensor x = zeros({n}, dtype_of<T>);
      x.mutable_data<T>()[at] = std::numeric_limits<T>::quiet_NaN();
      using F = Tensor (*)(const Tensor&);
      for (const F f : {F(relu), F(sigmoid), F(tanh), F(erf), F(silu)}) {
        const auto y = f(x).template to_vector<T>();
        for (std::int64_t i = 0; i < n; ++i) REQUIRE(std::isnan(y[static_cast<std::size_t>(i)]) == (i == at));
      }
      REQUIRE(std::isnan(gelu(x).template to_vector<T>()[static_cast<std::size_t>(at)]));
    }
  }
}

TEMPLATE_TEST_CASE("relu has gradient 0 at 0, recorded or not", "", float, double) {
  using T = TestType;
  const Tensor x = tensor<T>({0, 1, -1}).set_requires_grad();
  const Tensor dy = ones({3}, dtype_of<T>);
  for (const bool recorded : {false, true}) {
    const Tensor dx = grad(relu(x), x, {.grad_outputs = {dy}, .create_graph = recorded});
    REQUIRE(dx.template to_vector<T>() == std::vector<T>{0, 1, 0});
  }
}

// e^x / (e^x + 1) by the exponential that softmax and cross-entropy use.
Tensor softmax_beside_zero(const Tensor& x) { return select(softmax(stack({x, zeros_like(x)}, 1)), 1, 0); }

TEST_CASE("f32 kernels keep a relative error of a few roundings, tails included") {
  struct Row {
    Tensor (*f)(const Tensor&);
    double (*wanted)(double);
    double low, high;
    double roundings;  // of 2^-24
  };
  // Two units in the last place are 4 roundings; the product and, where the value itself is a product of an
  // exponential and a quotient, two more operations add one each.
  const Row rows[] = {
      {exp, [](double v) { return std::exp(v); }, -87, 88, 4},
      {softmax_beside_zero, logistic, -80, 0, 6},
      {tanh, [](double v) { return std::tanh(v); }, -10, 10, 4},
      {erf, [](double v) { return std::erf(v); }, -5, 5, 4},
      {sigmoid, logistic, -80, 80, 5},
      {silu, [](double v) { return v * logistic(v); }, -80, 80, 6},
      {[](const Tensor& x) { return gelu(x); }, gelu_exact, -12.5, 12, 8},
      {[](const Tensor& x) { return gelu(x, Gelu::tanh); }, gelu_by_logistic, -9, 12, 8},
  };
  for (const Row& row : rows) {
    std::vector<float> points;
    for (int i = 0; i <= 20000; ++i) {
      points.push_back(static_cast<float>(row.low + (row.high - row.low) * i / 20000));
    }
    const auto n = static_cast<std::int64_t>(points.size());
    const auto y = row.f(from_span<float>(points, {n})).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double wanted = row.wanted(points[i]);
      if (wanted != 0) worst = std::max(worst, std::abs(y[i] / wanted - 1) * 0x1.0p24);
    }
    CHECK(worst <= row.roundings);
  }
}

TEMPLATE_TEST_CASE("slopes of gelu and silu have their limits far out", "", float, double) {
  using T = TestType;
  const T far = std::numeric_limits<T>::max() / 4;
  const Tensor x = tensor<T>({-far, -1000, 1000, far}).set_requires_grad();
  const Tensor dy = ones({4}, dtype_of<T>);
  const auto by_tanh = [](const Tensor& v) { return gelu(v, Gelu::tanh); };
  const auto exact = [](const Tensor& v) { return gelu(v); };
  for (const std::function<Tensor(const Tensor&)>& f :
       std::vector<std::function<Tensor(const Tensor&)>>{silu, exact, by_tanh}) {
    REQUIRE(grad(f(x), x, {.grad_outputs = {dy}}).template to_vector<T>() == std::vector<T>{0, 0, 1, 1});
  }
}

TEST_CASE("backward leaves a cotangent alone that somebody else holds") {
  const Tensor x = tensor({-1.f, 2.f, 3.f}).set_requires_grad();
  const Tensor dy = tensor({5.f, 6.f, 7.f});
  for (const auto& f : {relu, sigmoid, tanh, silu}) grad(f(x), x, {.grad_outputs = {dy}});
  REQUIRE(dy.to_vector<float>() == std::vector<float>{5, 6, 7});
}

TEST_CASE("fused and composite backward of the activations agree, over the whole range") {
  const auto exact = [](const Tensor& x) { return gelu(x); };
  const auto by_tanh = [](const Tensor& x) { return gelu(x, Gelu::tanh); };
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return sigmoid(x); }, [](const Tensor& x) { return tanh(x); },
      [](const Tensor& x) { return silu(x); }, exact, by_tanh};
  Generator generator(3);
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& f : functions) {
      Tensor x = rand({200}, generator, dtype, -8, 8).set_requires_grad();
      const Tensor y = f(x);
      const Tensor u = randn({200}, generator, dtype);
      const auto a = to_array(grad(y, x, {.grad_outputs = {u}, .retain_graph = true})).values;
      const auto b = to_array(grad(y, x, {.grad_outputs = {u}, .create_graph = true})).values;
      // A chain of ten roundings, each of a number below 10.
      const double bound = dtype == DType::f32 ? 1e-5 : 1e-13;
      for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(std::abs(a[i] - b[i]) <= bound);
    }
  }
}
