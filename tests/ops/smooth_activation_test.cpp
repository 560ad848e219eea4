#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/smooth_activation.h>

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
    {pointwise("softplus", "plain", -4, 4, softplus, [](double v) { return std::log(1 + std::exp(v)); }),
     pointwise("softplus", "far out", 30, 90, softplus, [](double v) { return v; }),
     pointwise("log_sigmoid", "plain", -4, 4, log_sigmoid,
               [](double v) { return -std::log(1 + std::exp(-v)); }),
     pointwise("mish", "plain", -4, 4, mish,
               [](double v) { return v * std::tanh(std::log(1 + std::exp(v))); }),
     pointwise("softsign", "above zero", 0.1, 3, softsign, [](double v) { return v / (1 + v); }),
     pointwise("softsign", "below zero", -3, -0.1, softsign, [](double v) { return v / (1 - v); })},
    {refuses_integers("softplus", softplus), refuses_integers("log_sigmoid", log_sigmoid),
     refuses_integers("mish", mish), refuses_integers("softsign", softsign)});

}  // namespace

TEST_CASE("softsign has a slope of 1 at 0") {
  Tensor x = tensor({0.0}).set_requires_grad();
  REQUIRE(grad(softsign(x), x, {.grad_outputs = {ones_like(x)}}).item<double>() == 1);
}

TEMPLATE_TEST_CASE("smooth activations stay finite far out, in value and gradient", "", float, double) {
  using T = TestType;
  const auto far = std::numeric_limits<T>::max() / 4;
  for (Tensor (*f)(const Tensor&) : {softplus, log_sigmoid, mish, softsign}) {
    Tensor x = tensor<T>({-far, -1000, 1000, far}).set_requires_grad();
    const Tensor y = f(x);
    const Tensor dx = grad(y, x, {.grad_outputs = {ones_like(y)}});
    for (const T v : y.template to_vector<T>()) REQUIRE(std::isfinite(v));
    for (const T v : dx.template to_vector<T>()) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("NaN survives the smooth activations") {
  const Tensor x = tensor({std::numeric_limits<float>::quiet_NaN()});
  for (Tensor (*f)(const Tensor&) : {softplus, log_sigmoid, mish, softsign})
    REQUIRE(std::isnan(f(x).item<float>()));
}
