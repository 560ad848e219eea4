#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/activation_more.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

double logistic(double v) { return 1 / (1 + std::exp(-v)); }

// Gate of [2, 3, 2n] along the last axis, or of [2n, 5] along the first.
Reference halves(bool first_axis, std::function<double(double, double)> f) {
  return [=](const std::vector<Array>& in) {
    const Shape& shape = in[0].shape;
    Array y{shape, {}};
    const int axis = first_axis ? 0 : shape.rank() - 1;
    y.shape[axis] = shape[axis] / 2;
    const std::int64_t run = first_axis ? element_count(shape) / 2 : shape.back() / 2;
    for (std::int64_t i = 0; i < element_count(shape); i += 2 * run) {
      for (std::int64_t j = i; j < i + run; ++j) {
        y.values.push_back(
            f(in[0].values[static_cast<std::size_t>(j)], in[0].values[static_cast<std::size_t>(j + run)]));
      }
    }
    return y;
  };
}

OpCase pointwise(const char* op, const char* name, double low, double high, Tensor (*f)(const Tensor&),
                 double (*reference)(double)) {
  return {op, name, {{{3, 11}, low, high}}, unary(f), elementwise(reference)};
}

const auto gate_glu = [](double a, double b) { return a * logistic(b); };
const auto gate_swiglu = [](double a, double b) { return a * logistic(a) * b; };

ErrorCase refuses_integers(const char* op, std::function<Tensor(const Tensor&)> f) {
  return throws<DTypeError>(
      op, "dtype", [f = std::move(f)] { f(zeros({2}, DType::i64)); },
      std::string(op) + ": dtype not supported, x is i64[2]; expected f32 or f64");
}

const Registration registration(
    {pointwise("softplus", "plain", -4, 4, softplus, [](double v) { return std::log(1 + std::exp(v)); }),
     pointwise("softplus", "far out", 30, 90, softplus, [](double v) { return v; }),
     pointwise("log_sigmoid", "plain", -4, 4, log_sigmoid,
               [](double v) { return -std::log(1 + std::exp(-v)); }),
     pointwise("mish", "plain", -4, 4, mish,
               [](double v) { return v * std::tanh(std::log(1 + std::exp(v))); }),
     pointwise(
         "elu", "below zero", -3, -0.1, [](const Tensor& x) { return elu(x, 1.5); },
         [](double v) { return 1.5 * std::expm1(v); }),
     pointwise(
         "elu", "above zero", 0.1, 3, [](const Tensor& x) { return elu(x); }, [](double v) { return v; }),
     pointwise(
         "leaky_relu", "below zero", -3, -0.1, [](const Tensor& x) { return leaky_relu(x, 0.2); },
         [](double v) { return 0.2 * v; }),
     pointwise(
         "leaky_relu", "above zero", 0.1, 3, [](const Tensor& x) { return leaky_relu(x); },
         [](double v) { return v; }),
     pointwise("relu6", "inside", 0.1, 5.9, relu6, [](double v) { return v; }),
     pointwise("relu6", "above", 6.1, 9, relu6, [](double) { return 6.0; }),
     pointwise("hardswish", "inside", -2.9, 2.9, hardswish, [](double v) { return v * (v + 3) / 6; }),
     pointwise("hardswish", "above", 3.1, 6, hardswish, [](double v) { return v; }),
     pointwise("hardswish", "below", -6, -3.1, hardswish, [](double) { return 0.0; }),
     pointwise("softsign", "above zero", 0.1, 3, softsign, [](double v) { return v / (1 + v); }),
     pointwise("softsign", "below zero", -3, -0.1, softsign, [](double v) { return v / (1 - v); }),
     {"glu",
      "last axis",
      {{{2, 3, 6}}},
      unary([](const Tensor& x) { return glu(x); }),
      halves(false, gate_glu)},
     {"glu",
      "first axis",
      {{{4, 5}}},
      unary([](const Tensor& x) { return glu(x, 0); }),
      halves(true, gate_glu)},
     {"swiglu",
      "last axis",
      {{{2, 3, 6}}},
      unary([](const Tensor& x) { return swiglu(x); }),
      halves(false, gate_swiglu)},
     {"swiglu",
      "first axis",
      {{{4, 5}}},
      unary([](const Tensor& x) { return swiglu(x, 0); }),
      halves(true, gate_swiglu)}},
    {refuses_integers("softplus", softplus), refuses_integers("log_sigmoid", log_sigmoid),
     refuses_integers("mish", mish), refuses_integers("elu", [](const Tensor& x) { return elu(x); }),
     refuses_integers("leaky_relu", [](const Tensor& x) { return leaky_relu(x); }),
     refuses_integers("relu6", relu6), refuses_integers("hardswish", hardswish),
     refuses_integers("softsign", softsign),
     throws<ShapeError>(
         "glu", "odd axis",
         [] {
           glu(zeros({2, 3}));
         },
         "glu: axis does not halve, axis 1 of [2, 3]; expected an even size"),
     throws<ShapeError>(
         "swiglu", "odd axis",
         [] {
           swiglu(zeros({3, 2}), 0);
         },
         "swiglu: axis does not halve, axis 0 of [3, 2]; expected an even size")});

std::vector<double> gradient_at(Tensor (*f)(const Tensor&), std::initializer_list<double> points) {
  Tensor x = tensor(points).set_requires_grad();
  const Tensor y = f(x);
  return grad(y, x, {.grad_outputs = {ones_like(y)}}).to_vector<double>();
}

}  // namespace

TEST_CASE("gradients of the piecewise activations at their kinks") {
  REQUIRE(gradient_at(relu6, {0.0, 6.0}) == std::vector<double>{0, 0});
  REQUIRE(gradient_at([](const Tensor& x) { return leaky_relu(x, 0.25); }, {0.0}) ==
          std::vector<double>{0.25});
  REQUIRE(gradient_at([](const Tensor& x) { return elu(x, 2); }, {0.0}) == std::vector<double>{2});
  REQUIRE(gradient_at(hardswish, {-3.5, 0.0, 3.5}) == std::vector<double>{0, 0.5, 1});
  REQUIRE(gradient_at(softsign, {0.0}) == std::vector<double>{1});
}

TEMPLATE_TEST_CASE("activations stay finite far out, in value and gradient", "", float, double) {
  using T = TestType;
  const auto far = std::numeric_limits<T>::max() / 4;
  for (Tensor (*f)(const Tensor&) :
       {softplus, log_sigmoid, mish, softsign, relu6, +[](const Tensor& x) { return elu(x); }}) {
    Tensor x = tensor<T>({-far, -1000, 1000, far}).set_requires_grad();
    const Tensor y = f(x);
    const Tensor dx = grad(y, x, {.grad_outputs = {ones_like(y)}});
    for (const T v : y.template to_vector<T>()) REQUIRE(std::isfinite(v));
    for (const T v : dx.template to_vector<T>()) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("NaN survives the piecewise activations", "[report-18]") {
  const Tensor x = tensor({std::numeric_limits<float>::quiet_NaN()});
  for (Tensor (*f)(const Tensor&) :
       {softplus, log_sigmoid, mish, softsign, relu6, hardswish, +[](const Tensor& v) { return elu(v); },
        +[](const Tensor& v) { return leaky_relu(v); }}) {
    REQUIRE(std::isnan(f(x).item<float>()));
  }
}
