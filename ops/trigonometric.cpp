#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/power.h>
#include <heed/ops/trigonometric.h>

namespace heed {
namespace {

struct Atan2Vjp {
  SavedTensor a, b;
  void vjp(VjpContext& context) const {  // y = atan2(a, b)
    const Tensor a_ = context.unpack(a);
    const Tensor b_ = context.unpack(b);
    const Tensor scaled = div(context.cotangent(), add(square(a_), square(b_)));
    if (context.needs(0)) context.set(0, mul(scaled, b_));
    if (context.needs(1)) context.set(1, neg(mul(scaled, a_)));
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

struct AsinVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = asin x
    const Tensor x_ = context.unpack(x);
    context.set(0, mul(context.cotangent(), rsqrt(sub(1, square(x_)))));
  }
};

struct AtanVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = atan x
    const Tensor x_ = context.unpack(x);
    context.set(0, div(context.cotangent(), add(square(x_), 1)));
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
  record("asin", {&x}, y, [&] { return AsinVjp{save_input(x, "x")}; });
  return y;
}

Tensor atan(const Tensor& x) {
  check_floating("atan", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::atan(v); });
  });
  record("atan", {&x}, y, [&] { return AtanVjp{save_input(x, "x")}; });
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
