#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/power.h>
#include <heed/ops/smooth_derivative.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// p (p − 1) … (p − n + 1) x^(p − n): derivative number n of x^p. The exponent is formed in a wider type,
// since its rounding comes out multiplied by log x.
Tensor falling_power(const Tensor& x, double p, int n);

// a^(b − n). Below 0 the sign follows from b: b − n may round to another kind of number.
template <class W>
W lower_power(W a, W b, int n) {
  if (!std::signbit(a) || !std::isfinite(b)) return std::pow(a, b - n);
  const W size = std::pow(-a, b - n);
  if (b != std::floor(b)) return a < 0 && std::isfinite(a) ? std::numeric_limits<W>::quiet_NaN() : size;
  return (std::fmod(b, W(2)) != 0) == (n % 2 == 1) ? size : -size;
}

struct FallingPowerVjp {
  SavedTensor x;
  double exponent = 0;
  int n = 0;
  void vjp(VjpContext& context) const {
    context.set(0, mul(context.cotangent(), falling_power(context.unpack(x), exponent, n + 1)));
  }
};

Tensor falling_power(const Tensor& x, double p, int n) {
  if (x.dtype() == DType::f32) p = static_cast<float>(p);  // the number that x^p was computed with
  double factor = 1;
  for (int k = 0; k < n; ++k) factor *= p - k;
  if (factor == 0) return zeros(x.shape(), x.dtype());  // also where x is 0
  Tensor y = detail::map_wide(x, [&]<class W>(W v) { return W(factor) * lower_power(v, W(p), n); });
  record("pow", {&x}, y, [&] { return FallingPowerVjp{save_input(x, "x"), p, n}; });
  return y;
}

// A power that is 0 stays so beside an infinite logarithm or exponent.
template <class W>
W power_times(W power, W factor) {
  return power == 0 && std::isinf(factor) ? W(0) : power * factor;
}

// The derivative of a^b, i times for a and j times for b, i + j <= 2.
template <class W>
W power_term_at(W a, W b, int i, int j) {
  if (i == 1 && j == 0) return b == 0 ? W(0) : power_times(lower_power(a, b, 1), b);
  if (i == 2) return b == 0 || b == 1 ? W(0) : power_times(lower_power(a, b, 2), b * (b - 1));
  const W l = std::log(a);
  if (i == 1) return power_times(lower_power(a, b, 1), b == 0 ? W(1) : 1 + b * l);
  if (a == 0 && b >= 0) return 0;
  return power_times(std::pow(a, b), j == 1 ? l : l * l);
}

// The same of second order by recorded operations.
Tensor composed_term(const Tensor& a, const Tensor& b, int i) {
  if (i == 2) return mul(mul(b, sub(b, 1)), pow(a, sub(b, 2)));
  const Tensor l = log(masked_fill(a, eq(a.detach(), 0), 1));
  return i == 1 ? mul(pow(a, sub(b, 1)), add(mul(b, l), 1)) : mul(pow(a, b), square(l));
}

Tensor power_term(const Tensor& a, const Tensor& b, int i, int j);

struct PowVjp {
  SavedTensor a, b;
  int i = 0, j = 0;
  void vjp(VjpContext& context) const {  // y = a^b, or its derivative
    if (i + j == 2) {
      return detail::vjp_of_composite(context, {&a, &b}, [i = i](std::span<const Tensor> x) {
        return std::vector<Tensor>{composed_term(x[0], x[1], i)};
      });
    }
    const Tensor& dy = context.cotangent();
    const Tensor a_ = context.unpack(a);
    const Tensor b_ = context.unpack(b);
    if (context.needs(0)) context.set(0, mul(dy, power_term(a_, b_, i + 1, j)));
    if (context.needs(1)) context.set(1, mul(dy, power_term(a_, b_, i, j + 1)));
  }
};

Tensor power_term(const Tensor& a, const Tensor& b, int i, int j) {
  Tensor y = detail::map_wide(a, b, [=](auto u, auto v) { return power_term_at(u, v, i, j); });
  record("pow", {&a, &b}, y, [&] { return PowVjp{save_input(a, "a"), save_input(b, "b"), i, j}; });
  return y;
}

struct SqrtVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = √x
    const Tensor y_ = context.unpack(y);
    context.set(0, div(mul(context.cotangent(), 0.5), y_));
  }
};

struct SquareVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = x²
    const Tensor x_ = context.unpack(x);
    context.set(0, mul(mul(context.cotangent(), 2), x_));
  }
};

struct ReciprocalVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = 1/x
    const Tensor y_ = context.unpack(y);
    context.set(0, neg(mul(context.cotangent(), square(y_))));
  }
};

}  // namespace

Tensor sqrt(const Tensor& x) {
  check_floating("sqrt", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::sqrt(v); });
  });
  record("sqrt", {&x}, y, [&] { return SqrtVjp{save_output(y, "y")}; });
  return y;
}

Tensor rsqrt(const Tensor& x) {
  check_floating("rsqrt", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return T(1) / std::sqrt(v); });
  });
  detail::record_smooth("rsqrt", detail::Smooth::rsqrt, x, y);
  return y;
}

Tensor square(const Tensor& x) {
  check_floating("square", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return v * v; });
  });
  record("square", {&x}, y, [&] { return SquareVjp{save_input(x, "x")}; });
  return y;
}

Tensor reciprocal(const Tensor& x) {
  check_floating("reciprocal", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return T(1) / v; });
  });
  record("reciprocal", {&x}, y, [&] { return ReciprocalVjp{save_output(y, "y")}; });
  return y;
}

Tensor pow(const Tensor& x, Scalar exponent) {
  check_floating("pow", "x", x);
  const auto p = exponent.to<double>();
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [e = static_cast<T>(p)](T v) { return std::pow(v, e); });
  });
  record("pow", {&x}, y, [&] { return FallingPowerVjp{save_input(x, "x"), p, 0}; });
  return y;
}

Tensor pow(const Tensor& a, const Tensor& b) {
  check_floating("pow", "a", a);
  check_same_dtype("pow", "a", a, "b", b);
  const detail::Operands x("pow", a, b);
  Tensor y = visit_floating(a.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_binary<T, T>(x.a, x.b, [](T u, T v) { return std::pow(u, v); });
  });
  record("pow", {&x.a, &x.b}, y, [&] { return PowVjp{save_input(x.a, "a"), save_input(x.b, "b")}; });
  return y;
}

}  // namespace heed
