#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include <heed/core/record.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/kernels/elementwise_kernels.h>
#include <heed/ops/power.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/smooth_derivative.h>

namespace heed::detail {
namespace {

using kernels::Map2;

// Formulas in a type W that is wider than the dtype: exponents keep their digits when they are rounded,
// and what is subnormal in the dtype is not so in W. Where a number and an exponential are multiplied, ∞ ·
// 0 must not be met: all such functions are at their limits beyond ±10⁴.
template <class W>
W near(W x) {
  return std::clamp(x, W(-1e4), W(1e4));  // NaN stays
}

// The function and its first two derivatives at a point.
template <class W>
struct Curve {
  W value, slope, bend;
};

template <class W>
Curve<W> sigmoid_curve(W x) {
  const W e = std::exp(-std::abs(x));
  const W slope = e / ((1 + e) * (1 + e));
  return {(x < 0 ? e : W(1)) / (1 + e), slope, -slope * std::tanh(x / 2)};
}

template <class W>
Curve<W> tanh_curve(W x) {
  const W slope = 4 * sigmoid_curve(2 * x).slope;
  const W y = std::tanh(x);
  return {y, slope, -2 * y * slope};
}

template <class W>
Curve<W> erf_curve(W x) {
  x = near(x);
  const W slope = 2 * std::numbers::inv_sqrtpi_v<W> * std::exp(-x * x);
  return {std::erf(x), slope, -2 * x * slope};
}

// x g(x) from g: silu, gelu and mish are such products.
template <class W>
Curve<W> times_x(W x, const Curve<W>& g) {
  return {x * g.value, g.value + x * g.slope, 2 * g.slope + x * g.bend};
}

template <class W>
Curve<W> gelu_curve(W x) {
  constexpr W half_sqrt2 = std::numbers::sqrt2_v<W> / 2;
  const W density = half_sqrt2 * std::numbers::inv_sqrtpi_v<W> * std::exp(-x * x / 2);
  return times_x(x, {std::erfc(-x * half_sqrt2) / 2, density, -x * density});
}

// ½ (1 + tanh u) = sigmoid(2u), 2u = a (x + c x³): no cancellation for negative x.
template <class W>
Curve<W> gelu_tanh_curve(W x) {
  constexpr W c = W(44715) / 1000000;
  constexpr W a = 2 * std::numbers::sqrt2_v<W> * std::numbers::inv_sqrtpi_v<W>;
  const Curve<W> g = sigmoid_curve(a * x * (1 + c * x * x));
  const W inner = a * (1 + 3 * c * x * x);
  return times_x(x, {g.value, g.slope * inner, g.bend * inner * inner + g.slope * 6 * a * c * x});
}

// x tanh(log(1 + e^x)), and tanh(log(1 + z)) = 1 − 2/d with d = (1 + z)² + 1; for x > 0 divided by e^2x.
template <class W>
Curve<W> mish_curve(W x) {
  const W e = std::exp(-std::abs(x));
  if (x > 0) {
    const W d = 1 + 2 * e + 2 * e * e;
    return times_x(x, {(1 + 2 * e) / d, 4 * e * e * (1 + e) / (d * d),
                       4 * e * e * (2 * e * e * (1 + e) - 3 * e - 2) / (d * d * d)});
  }
  const W d = e * e + 2 * e + 2;
  return times_x(x, {e * (e + 2) / d, 4 * e * (e + 1) / (d * d),
                     4 * e * (2 + 2 * e - e * e * (3 + 2 * e)) / (d * d * d)});
}

template <class W>
Curve<W> rsqrt_curve(W x) {
  const W y = 1 / std::sqrt(x);
  return {y, y * y * y / -2, y * y * y * y * y * 3 / 4};
}

template <class W>
Curve<W> asin_curve(W x) {
  const W slope = 1 / std::sqrt((1 - x) * (1 + x));
  return {std::asin(x), slope, x * slope * slope * slope};
}

template <class W>
Curve<W> atan_curve(W x) {
  const W slope = 1 / (1 + x * x);
  return {std::atan(x), slope, std::isinf(x) ? -1 / x : -2 * (x * slope) * slope};
}

template <class W>
W evaluate(const Curve<W>& curve, int order) {
  return order == 0 ? curve.value : order == 1 ? curve.slope : curve.bend;
}

// Calls use(f) with the curve of f as a function object.
template <class Use>
Tensor with_curve(Smooth f, int order, Use&& use) {
  const auto product = [order](auto curve) {
    return [order, curve](auto x) {
      using W = decltype(x);
      // The value grows without end to the right.
      const W within = order == 0 && x > 0 ? x : near(x);
      return evaluate<W>(curve(within), order);
    };
  };
  const auto plain = [order](auto curve) { return [=](auto x) { return evaluate(curve(x), order); }; };
  switch (f) {
    case Smooth::sigmoid:
      return use(plain([](auto x) { return sigmoid_curve(x); }));
    case Smooth::tanh:
      return use(plain([](auto x) { return tanh_curve(x); }));
    case Smooth::erf:
      return use(plain([](auto x) { return erf_curve(x); }));
    case Smooth::silu:
      return use(product([](auto x) { return times_x(x, sigmoid_curve(x)); }));
    case Smooth::gelu:
      return use(product([](auto x) { return gelu_curve(x); }));
    case Smooth::gelu_tanh:
      return use(product([](auto x) { return gelu_tanh_curve(x); }));
    case Smooth::mish:
      return use(product([](auto x) { return mish_curve(x); }));
    case Smooth::rsqrt:
      return use(plain([](auto x) { return rsqrt_curve(x); }));
    case Smooth::asin:
      return use(plain([](auto x) { return asin_curve(x); }));
    case Smooth::atan:
      break;
  }
  return use(plain([](auto x) { return atan_curve(x); }));
}

Tensor evaluated(Smooth f, int order, const Tensor& x) {
  return with_curve(f, order, [&](auto curve) { return map_wide(x, curve); });
}

Tensor slope(Smooth f, const Tensor& x) { return smooth_derivative(f, 1, x); }
Tensor bend(Smooth f, const Tensor& x) { return smooth_derivative(f, 2, x); }
Tensor third(Smooth f, const Tensor& x) { return smooth_derivative(f, 3, x); }
Tensor cube(const Tensor& x) { return mul(x, square(x)); }

// g''' of g(v(x)), v' and v'' as given and v''' a number.
Tensor third_of_chain(Smooth g, const Tensor& v, const Tensor& v1, const Tensor& v2, double v3) {
  const Tensor mixed = mul(mul(mul(bend(g, v), v1), v2), 3);
  return add(add(mul(third(g, v), cube(v1)), mixed), mul(slope(g, v), v3));
}

// (x sigmoid(v(x)))''' = 3 (s'' v'² + s' v'') + x (s(v))'''
Tensor third_of_gelu_tanh(const Tensor& x) {
  const double c = 0.044715;
  const double a = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor v = mul(add(x, mul(cube(x), c)), a);
  const Tensor v1 = mul(add(mul(square(x), 3 * c), 1), a);
  const Tensor v2 = mul(x, 6 * a * c);
  const Smooth s = Smooth::sigmoid;
  const Tensor second = add(mul(bend(s, v), square(v1)), mul(slope(s, v), v2));
  return add(mul(second, 3), mul(x, third_of_chain(s, v, v1, v2, 6 * a * c)));
}

// (x w)''' = 3 w'' + x w''' with w = tanh(p), p' = sigmoid(x)
Tensor third_of_mish(const Tensor& x) {
  const Tensor p = softplus(x);
  const Tensor p1 = sigmoid(x);
  const Tensor p2 = slope(Smooth::sigmoid, x);
  const Smooth t = Smooth::tanh;
  const Tensor second = add(mul(bend(t, p), square(p1)), mul(slope(t, p), p2));
  const Tensor chain = third_of_chain(t, p, p1, p2, 0);
  const Tensor rest = mul(slope(t, p), bend(Smooth::sigmoid, x));
  return add(mul(second, 3), mul(x, add(chain, rest)));
}

// f''' by recorded operations.
Tensor composed_third(Smooth f, const Tensor& x) {
  const Tensor bounded = clamp(x, -1e4, 1e4);
  switch (f) {
    case Smooth::sigmoid:
      return mul(slope(f, x), sub(1, mul(slope(f, x), 6)));
    case Smooth::tanh:
      return mul(slope(f, x), sub(4, mul(slope(f, x), 6)));
    case Smooth::erf:
      return mul(slope(f, x), sub(mul(square(bounded), 4), 2));
    case Smooth::silu:
      return add(mul(bend(Smooth::sigmoid, x), 3), mul(bounded, third(Smooth::sigmoid, x)));
    case Smooth::gelu: {  // φ (x³ − 4x)
      const Tensor density =
          mul(slope(Smooth::erf, mul(x, std::numbers::sqrt2 / 2)), std::numbers::sqrt2 / 4);
      return mul(density, mul(bounded, sub(square(bounded), 4)));
    }
    case Smooth::gelu_tanh:
      return third_of_gelu_tanh(bounded);
    case Smooth::mish:
      return third_of_mish(bounded);
    case Smooth::rsqrt:
      return mul(bend(f, x), div(-2.5, x));
    case Smooth::asin: {  // r³ (1 + 3 x² r²) with r = f'
      const Tensor r = slope(f, x);
      return mul(cube(r), add(mul(square(mul(x, r)), 3), 1));
    }
    case Smooth::atan:
      break;
  }
  const Tensor r = slope(Smooth::atan, x);  // r² (6 − 8r)
  return mul(square(r), sub(6, mul(r, 8)));
}

std::optional<Map2> kernel_of(Smooth f) {
  switch (f) {
    case Smooth::sigmoid:
      return Map2::sigmoid_vjp;
    case Smooth::tanh:
      return Map2::tanh_vjp;
    case Smooth::silu:
      return Map2::silu_vjp;
    case Smooth::gelu:
      return Map2::gelu_vjp;
    case Smooth::gelu_tanh:
      return Map2::gelu_tanh_vjp;
    default:
      return {};
  }
}

struct SmoothVjp {
  SavedTensor x;
  Smooth f = Smooth::sigmoid;
  int order = 0;
  void vjp(VjpContext& context) const {  // y = f(x), f'(x) or f''(x)
    const Tensor x_ = context.unpack(x);
    const auto kernel = kernel_of(f);
    if (order == 0 && kernel && context.fused() && x_.dtype() == DType::f32) {
      context.set(0, map_kernel(*kernel, x_, context.take_cotangent()));
    } else {
      context.set(0, mul(context.cotangent(), smooth_derivative(f, order + 1, x_)));
    }
  }
};

}  // namespace

Tensor smooth_value(Smooth f, const Tensor& x) { return evaluated(f, 0, x); }

Tensor smooth_derivative(Smooth f, int order, const Tensor& x) {
  if (order == 3) return composed_third(f, x);
  Tensor y = evaluated(f, order, x);
  record(order == 1 ? "slope" : "curvature", {&x}, y, [&] {
    return SmoothVjp{save_input(x, "x"), f, order};
  });
  return y;
}

void record_smooth(const char* op, Smooth f, const Tensor& x, Tensor& y) {
  record(op, {&x}, y, [&] { return SmoothVjp{save_input(x, "x"), f}; });
}

}  // namespace heed::detail
