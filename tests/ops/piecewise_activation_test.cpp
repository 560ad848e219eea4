#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/piecewise_activation.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

OpCase pointwise(const char* op, const char* name, double low, double high, Tensor (*f)(const Tensor&),
                 double (*reference)(double)) {
  return {op, name, {{{3, 11}, low, high}}, unary(f), elementwise(reference)};
}

ErrorCase refuses_integers(const char* op, std::function<Tensor(const Tensor&)> f) {
  return throws<DTypeError>(
      op, "dtype", [f = std::move(f)] { f(zeros({2}, DType::i64)); },
      std::string(op) + ": dtype not supported, x is i64[2]; expected f32 or f64");
}

const Registration registration(
    {pointwise(
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
     pointwise("hardswish", "below", -6, -3.1, hardswish, [](double) { return 0.0; })},
    {refuses_integers("elu", [](const Tensor& x) { return elu(x); }),
     refuses_integers("leaky_relu", [](const Tensor& x) { return leaky_relu(x); }),
     refuses_integers("relu6", relu6), refuses_integers("hardswish", hardswish)});

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
}

TEMPLATE_TEST_CASE("relu6 and elu stay finite far out, in value and gradient", "", float, double) {
  using T = TestType;
  const auto far = std::numeric_limits<T>::max() / 4;
  for (Tensor (*f)(const Tensor&) : {relu6, +[](const Tensor& x) { return elu(x); }}) {
    Tensor x = tensor<T>({-far, -1000, 1000, far}).set_requires_grad();
    const Tensor y = f(x);
    const Tensor dx = grad(y, x, {.grad_outputs = {ones_like(y)}});
    for (const T v : y.template to_vector<T>()) REQUIRE(std::isfinite(v));
    for (const T v : dx.template to_vector<T>()) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("NaN survives the piecewise activations") {
  const Tensor x = tensor({std::numeric_limits<float>::quiet_NaN()});
  for (Tensor (*f)(const Tensor&) : {relu6, hardswish, +[](const Tensor& v) { return elu(v); },
                                     +[](const Tensor& v) { return leaky_relu(v); }})
    REQUIRE(std::isnan(f(x).item<float>()));
}
