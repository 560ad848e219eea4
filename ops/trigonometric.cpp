#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/power.h>
#include <heed/ops/smooth_derivative.h>
#include <heed/ops/trigonometric.h>

namespace heed {
namespace {

// Derivatives of the angle, r² = a² + b², in a wider type, where r⁴ neither overflows nor vanishes.
// f(a, b, r²) is 0 where r is infinite.
template <class F>
Tensor map_plane(const Tensor& a, const Tensor& b, F&& f) {
  return detail::map_wide(a, b, [&]<class W>(W u, W v) {
    const W square = u * u + v * v;
    return std::isinf(square) ? W(0) : f(u, v, square);
  });
}

// The third derivative 2b (b² − 3a²) / r⁶, of which the others are turns.
Tensor third_of_angle(const Tensor& a, const Tensor& b) {
  const Tensor r2 = add(square(a), square(b));
  return div(mul(mul(b, 2), sub(square(b), mul(square(a), 3))), mul(r2, square(r2)));
}

struct BendVjp {
  SavedTensor a, b;
  bool mixed = false;
  void vjp(VjpContext& context) const {  // y = 2ab / r⁴, or, mixed, (a² − b²) / r⁴
    const Tensor& dy = context.cotangent();
    const Tensor along_a = third_of_angle(context.unpack(a), context.unpack(b));
    const Tensor along_b = third_of_angle(context.unpack(b), context.unpack(a));
    context.set(0, mul(dy, mixed ? neg(along_b) : along_a));
    context.set(1, mul(dy, mixed ? along_a : along_b));
  }
};

Tensor bend_of_angle(const Tensor& a, const Tensor& b, bool mixed) {
  Tensor y = map_plane(a, b, [mixed](auto u, auto v, auto square) {
    return (mixed ? (u - v) * (u + v) : 2 * u * v) / square / square;
  });
  record("atan2", {&a, &b}, y, [&] { return BendVjp{save_input(a, "a"), save_input(b, "b"), mixed}; });
  return y;
}

struct AngleSlopeVjp {
  SavedTensor a, b;
  void vjp(VjpContext& context) const {  // y = b / r²
    const Tensor& dy = context.cotangent();
    const Tensor a_ = context.unpack(a);
    const Tensor b_ = context.unpack(b);
    if (context.needs(0)) context.set(0, neg(mul(dy, bend_of_angle(a_, b_, false))));
    if (context.needs(1)) context.set(1, mul(dy, bend_of_angle(a_, b_, true)));
  }
};

Tensor slope_of_angle(const Tensor& a, const Tensor& b) {
  Tensor y = map_plane(a, b, [](auto, auto v, auto square) { return v / square; });
  record("atan2", {&a, &b}, y, [&] { return AngleSlopeVjp{save_input(a, "a"), save_input(b, "b")}; });
  return y;
}

struct Atan2Vjp {
  SavedTensor a, b;
  void vjp(VjpContext& context) const {  // y = atan2(a, b)
    const Tensor& dy = context.cotangent();
    const Tensor a_ = context.unpack(a);
    const Tensor b_ = context.unpack(b);
    if (context.needs(0)) context.set(0, mul(dy, slope_of_angle(a_, b_)));
    if (context.needs(1)) context.set(1, neg(mul(dy, slope_of_angle(b_, a_))));
  }
};

struct SinVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = sin x
    const Tensor x_ = context.unpack(x);
    context.set(0, mul(context.cotangent(), cos(x_)));
  }
};

struct CosVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = cos x
    const Tensor x_ = context.unpack(x);
    context.set(0, neg(mul(context.cotangent(), sin(x_))));
  }
};

struct TanVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = tan x
    const Tensor y_ = context.unpack(y);
    context.set(0, mul(context.cotangent(), add(square(y_), 1)));
  }
};

}  // namespace

Tensor sin(const Tensor& x) {
  check_floating("sin", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::sin(v); });
  });
  record("sin", {&x}, y, [&] { return SinVjp{save_input(x, "x")}; });
  return y;
}

Tensor cos(const Tensor& x) {
  check_floating("cos", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::cos(v); });
  });
  record("cos", {&x}, y, [&] { return CosVjp{save_input(x, "x")}; });
  return y;
}

Tensor tan(const Tensor& x) {
  check_floating("tan", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::tan(v); });
  });
  record("tan", {&x}, y, [&] { return TanVjp{save_output(y, "y")}; });
  return y;
}

Tensor asin(const Tensor& x) {
  check_floating("asin", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::asin(v); });
  });
  detail::record_smooth("asin", detail::Smooth::asin, x, y);
  return y;
}

Tensor atan(const Tensor& x) {
  check_floating("atan", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::atan(v); });
  });
  detail::record_smooth("atan", detail::Smooth::atan, x, y);
  return y;
}

Tensor atan2(const Tensor& a, const Tensor& b) {
  check_floating("atan2", "a", a);
  check_same_dtype("atan2", "a", a, "b", b);
  const detail::Operands x("atan2", a, b);
  Tensor y = visit_floating(a.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_binary<T, T>(x.a, x.b, [](T u, T v) { return std::atan2(u, v); });
  });
  record("atan2", {&x.a, &x.b}, y, [&] { return Atan2Vjp{save_input(x.a, "a"), save_input(x.b, "b")}; });
  return y;
}

}  // namespace heed
