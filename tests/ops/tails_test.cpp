// Where formulas of derivatives lose their tails: values of single points. The whole
// range is walked in tests/range.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/ops/activation.h>
#include <heed/ops/clamp.h>
#include <heed/ops/gated_activation.h>
#include <heed/ops/smooth_activation.h>

#include "../range/operations.h"
#include "../support/op_case.h"

using namespace heed;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

Tensor exact_gelu(const Tensor& x) { return gelu(x); }
Tensor gelu_by_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }

template <class T>
double value_at(const Function& f, T x) {
  return static_cast<double>(f(tensor<T>({x})).template item<T>());
}

// The derivative at x; recorded derivatives take another way than others.
template <class T>
double slope_at(const Function& f, T at, bool recorded) {
  const Tensor x = tensor<T>({at}).set_requires_grad();
  return static_cast<double>(grad(f(x), x, {.create_graph = recorded}).template item<T>());
}

template <class T>
double bend_at(const Function& f, T at) {
  const Tensor x = tensor<T>({at}).set_requires_grad();
  return static_cast<double>(grad(grad(f(x), x, {.create_graph = true}), x).template item<T>());
}

}  // namespace

TEST_CASE("every elementwise operation is held over the whole range") {
  for (const test::OpCase& c : test::op_cases()) {
    const bool floating = std::any_of(c.inputs.begin(), c.inputs.end(),
                                      [](const test::Input& input) { return is_floating(input.dtype); });
    if (!test::is_elementwise(c) || !floating) continue;
    INFO(c.op << " needs a row in tests/range, and a place in the list there");
    CHECK(std::count(std::begin(test::elementwise_operations), std::end(test::elementwise_operations),
                     c.op) == 1);
  }
}

TEST_CASE("slopes of sigmoid and tanh keep their tails", "[fault-9]") {
  // Ten digits are given, and f32 keeps seven.
  for (const bool recorded : {false, true}) {
    for (const float sign : {1.0f, -1.0f}) {
      CHECK(slope_at(sigmoid, sign * 18, recorded) == Approx(1.522997951e-8).epsilon(1e-6));
      CHECK(slope_at(sigmoid, sign * 12, recorded) == Approx(6.144137e-6).epsilon(1e-6));
      CHECK(slope_at(heed::tanh, sign * 10, recorded) == Approx(8.2446145e-9).epsilon(1e-6));
      CHECK(slope_at(sigmoid, sign * 38.5, recorded) == Approx(1.903980e-17).epsilon(1e-6));
      CHECK(slope_at(heed::tanh, sign * 20.0, recorded) == Approx(1.6993417e-17).epsilon(1e-7));
    }
  }
}

TEST_CASE("second derivatives of softplus, log_sigmoid and silu keep their tails", "[fault-9]") {
  CHECK(bend_at(softplus, 38.5) == Approx(1.9039802833e-17).epsilon(1e-10));
  CHECK(bend_at(log_sigmoid, -38.5) == Approx(-1.9039802833e-17).epsilon(1e-10));
  CHECK(bend_at(silu, 38.5) == Approx(-6.949528e-16).epsilon(1e-6));
}

TEST_CASE("the slope of gelu is the same whether it is recorded or not", "[fault-9]") {
  for (const bool recorded : {false, true}) {
    CHECK(slope_at(exact_gelu, -9.0, recorded) == Approx(-9.138937373906639e-18).epsilon(1e-15));
    CHECK(slope_at(exact_gelu, -6.0f, recorded) == Approx(-3.54687e-8).epsilon(1e-5));
  }
}

TEST_CASE("the gate of glu has the slope of sigmoid", "[fault-9]") {
  for (const bool recorded : {false, true}) {
    const Tensor x = tensor({2.0f, 18.0f}).set_requires_grad();
    const Tensor y = glu(x, 0);
    const Tensor dx = grad(y, x, {.grad_outputs = {ones_like(y)}, .create_graph = recorded});
    CHECK(static_cast<double>(dx.to_vector<float>()[1]) == Approx(2 * 1.522997951e-8).epsilon(1e-6));
  }
}

TEMPLATE_TEST_CASE("activations have their limits at the ends of the range", "[fault-10]", float, double) {
  using T = TestType;
  const T infinity = std::numeric_limits<T>::infinity();
  for (const bool fused : {true, false}) {
    std::optional<NoFusion> guard;
    if (!fused) guard.emplace();
    for (const Function& f : {Function(silu), Function(exact_gelu), Function(gelu_by_tanh), Function(mish)}) {
      CHECK(value_at(f, -infinity) == 0);
      CHECK(value_at(f, infinity) == static_cast<double>(infinity));
      for (const bool recorded : {false, true}) {
        CHECK(slope_at(f, -infinity, recorded) == 0);
        CHECK(slope_at(f, infinity, recorded) == 1);
      }
      CHECK(bend_at(f, -infinity) == 0);
      CHECK(bend_at(f, infinity) == 0);
    }
    for (const T sign : {T(1), T(-1)}) {
      CHECK(value_at<T>(softsign, sign * infinity) == static_cast<double>(sign));
      CHECK(slope_at<T>(softsign, sign * infinity, true) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("a bound of clamp that is NaN gives NaN", "[fault-18]", float, double) {
  using T = TestType;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor<T>({-1, 2, 5}).set_requires_grad();
  for (const Tensor& y : {clamp(x, nan, 3.0), clamp(x, -3.0, nan), clamp(x, nan, {}), clamp(x, {}, nan)}) {
    for (const T v : y.template to_vector<T>()) CHECK(std::isnan(v));
    const Tensor dx = grad(y, x, {.grad_outputs = {ones_like(y)}});
    CHECK(dx.template to_vector<T>() == std::vector<T>{0, 0, 0});
  }
}
