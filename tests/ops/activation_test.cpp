#include <cmath>
#include <limits>
#include <numbers>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/activation.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

double logistic(double v) { return 1 / (1 + std::exp(-v)); }
double gelu_exact(double v) { return 0.5 * v * std::erfc(-v / std::numbers::sqrt2); }
double gelu_by_tanh(double v) {
  return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
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

TEMPLATE_TEST_CASE("NaN survives relu at every place of vector and tail", "[report-18]", float, double) {
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

TEST_CASE("relu has gradient 0 at 0") {
  Tensor x = tensor({0.0, 1.0, -1.0}).set_requires_grad();
  backward(relu(x), {.cotangent = ones({3}, DType::f64)});
  REQUIRE(x.grad().to_vector<double>() == std::vector<double>{0, 1, 0});
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
