#include <algorithm>
#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/kernels/elementwise_kernels.h>
#include <heed/ops/power.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Whether backward may use a fused f32 kernel; else it is composed of recorded operations.
bool has_kernel(VjpContext& context) { return context.fused() && context.cotangent().dtype() == DType::f32; }

double logistic(double v) { return v >= 0 ? 1 / (1 + std::exp(-v)) : std::exp(v) / (1 + std::exp(v)); }

Tensor silu_vjp(const Tensor& x, const Tensor& dy) {
  const Tensor s = sigmoid(x);
  return mul(dy, mul(s, add(mul(x, sub(1, s)), 1)));
}

constexpr double inverse_sqrt2 = 0.5 * std::numbers::sqrt2;
const double sqrt_2_over_pi = std::sqrt(2 / std::numbers::pi);

// ½ (1 + tanh u) = sigmoid(2u): no cancellation for negative x.
double gelu_tanh_gate(double v) { return logistic(2 * sqrt_2_over_pi * (v + 0.044715 * v * v * v)); }
double gelu_value(double v) { return 0.5 * v * std::erfc(-v * inverse_sqrt2); }
double gelu_slope(double v) {
  return 0.5 * std::erfc(-v * inverse_sqrt2) +
         v * std::exp(-0.5 * v * v) * 0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
}
double gelu_tanh_slope(double v) {
  v = std::clamp(v, -40.0, 40.0);  // the gate is 0 or 1 beyond, and 0 · ∞ is not met
  const double s = gelu_tanh_gate(v);
  return s + v * s * (1 - s) * 2 * sqrt_2_over_pi * (1 + 3 * 0.044715 * v * v);
}

struct GeluVjp {
  SavedTensor x;
  Gelu approximate = Gelu::none;

  void vjp(VjpContext& context) const {  // y = x Φ(x)
    const Tensor x_ = context.unpack(x);
    if (!context.fused()) return context.set(0, mul(context.cotangent(), composite_slope(x_)));
    const bool exact = approximate == Gelu::none;
    const auto slope = exact ? gelu_slope : gelu_tanh_slope;
    context.set(
        0, detail::map_floating(exact ? kernels::Map2::gelu_vjp : kernels::Map2::gelu_tanh_vjp, x_,
                                context.take_cotangent(), [&](double v, double g) { return g * slope(v); }));
  }

  Tensor composite_slope(const Tensor& x_) const {
    if (approximate == Gelu::none) {
      const Tensor cdf = mul(add(erf(mul(x_, inverse_sqrt2)), 1), 0.5);
      const Tensor pdf = mul(exp(mul(square(x_), -0.5)), inverse_sqrt2 * std::numbers::inv_sqrtpi);
      return add(cdf, mul(x_, pdf));
    }
    const Tensor s = sigmoid(mul(mul(x_, add(mul(square(x_), 0.044715), 1)), 2 * sqrt_2_over_pi));
    const Tensor inner = mul(add(mul(square(x_), 3 * 0.044715), 1), 2 * sqrt_2_over_pi);
    return mul(s, add(mul(mul(x_, sub(1, s)), inner), 1));
  }
};

struct SigmoidVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = 1 / (1 + e^−x)
    const Tensor y_ = context.unpack(y);
    if (has_kernel(context)) {
      context.set(0, detail::map_kernel(kernels::Map2::sigmoid_vjp, y_, context.take_cotangent()));
    } else {
      context.set(0, mul(context.cotangent(), mul(y_, sub(1, y_))));
    }
  }
};

struct TanhVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = tanh x
    const Tensor y_ = context.unpack(y);
    if (has_kernel(context)) {
      context.set(0, detail::map_kernel(kernels::Map2::tanh_vjp, y_, context.take_cotangent()));
    } else {
      context.set(0, mul(context.cotangent(), sub(1, square(y_))));
    }
  }
};

struct ErfVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = erf x
    const Tensor x_ = context.unpack(x);
    context.set(0, mul(context.cotangent(), mul(exp(neg(square(x_))), 2 / std::sqrt(std::numbers::pi))));
  }
};

struct ReluVjp {
  SavedTensor y;                         // has the sign of x, and the next operation often keeps it anyway
  void vjp(VjpContext& context) const {  // y = max(x, 0)
    const Tensor y_ = context.unpack(y);
    if (has_kernel(context)) {
      context.set(0, detail::map_kernel(kernels::Map2::relu_vjp, y_, context.take_cotangent()));
    } else {
      context.set(0, where(le(y_, 0), 0, context.cotangent()));
    }
  }
};

struct SiluVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = x s, s = sigmoid(x)
    const Tensor x_ = context.unpack(x);
    if (has_kernel(context)) {
      context.set(0, detail::map_kernel(kernels::Map2::silu_vjp, x_, context.take_cotangent()));
    } else {
      context.set(0, silu_vjp(x_, context.cotangent()));
    }
  }
};

}  // namespace

Tensor sigmoid(const Tensor& x) {
  check_floating("sigmoid", "x", x);
  Tensor y = detail::map_floating(kernels::Map::sigmoid, x, [](double v) { return logistic(v); });
  record("sigmoid", {&x}, y, [&] { return SigmoidVjp{save_output(y, "y")}; });
  return y;
}

Tensor tanh(const Tensor& x) {
  check_floating("tanh", "x", x);
  Tensor y = detail::map_floating(kernels::Map::tanh, x, [](double v) { return std::tanh(v); });
  record("tanh", {&x}, y, [&] { return TanhVjp{save_output(y, "y")}; });
  return y;
}

Tensor erf(const Tensor& x) {
  check_floating("erf", "x", x);
  Tensor y = detail::map_floating(kernels::Map::erf, x, [](double v) { return std::erf(v); });
  record("erf", {&x}, y, [&] { return ErfVjp{save_input(x, "x")}; });
  return y;
}

Tensor relu(const Tensor& x) {
  check_floating("relu", "x", x);
  Tensor y = detail::map_floating(kernels::Map::relu, x, [](double v) { return (v < 0 ? 0 : v); });
  record("relu", {&x}, y, [&] { return ReluVjp{save_output(y, "y")}; });
  return y;
}

Tensor silu(const Tensor& x) {
  check_floating("silu", "x", x);
  Tensor y = detail::map_floating(kernels::Map::silu, x, [](double v) { return v * logistic(v); });
  record("silu", {&x}, y, [&] { return SiluVjp{save_input(x, "x")}; });
  return y;
}

Tensor gelu(const Tensor& x, Gelu approximate) {
  check_floating("gelu", "x", x);
  const bool exact = approximate == Gelu::none;
  Tensor y = detail::map_floating(exact ? kernels::Map::gelu : kernels::Map::gelu_tanh, x,
                                  [&](double v) { return exact ? gelu_value(v) : v * gelu_tanh_gate(v); });
  record("gelu", {&x}, y, [&] { return GeluVjp{save_input(x, "x"), approximate}; });
  return y;
}

}  // namespace heed
