#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/rounding.h>
#include <heed/ops/zero_norm.h>

namespace heed {
namespace {

struct AbsVjp {
  SavedTensor x, y;
  void vjp(VjpContext& context) const {  // y = |x|
    const Tensor x_ = context.unpack(x);
    const Tensor y_ = context.unpack(y);
    Tensor dx = mul(detail::cotangent_of_norm(context.cotangent(), y_, y_.shape()), sign(x_));
    if (context.recording()) {
      const Tensor at_zero = detail::slope_at_zero_norm(
          context, {.x = x_, .y = y_, .v = x_, .kept = x_.shape(), .kinks = false});
      if (at_zero.defined()) dx = add(dx, at_zero);
    }
    context.set(0, dx);
  }
};

struct SignVjp {
  void vjp(VjpContext& context) const {  // piecewise constant
    context.set(0, zeros(context.cotangent().shape(), context.cotangent().dtype()));
  }
};

struct FloorVjp {
  void vjp(VjpContext& context) const {  // piecewise constant
    context.set(0, zeros(context.cotangent().shape(), context.cotangent().dtype()));
  }
};

struct CeilVjp {
  void vjp(VjpContext& context) const {  // piecewise constant
    context.set(0, zeros(context.cotangent().shape(), context.cotangent().dtype()));
  }
};

struct RoundVjp {
  void vjp(VjpContext& context) const {  // piecewise constant
    context.set(0, zeros(context.cotangent().shape(), context.cotangent().dtype()));
  }
};

}  // namespace

Tensor abs(const Tensor& x) {
  check_numeric("abs", "x", x);
  Tensor y = visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) {
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // the smallest number has no positive one: it wraps to itself
        return v < 0 ? static_cast<T>(U(0) - static_cast<U>(v)) : v;
      } else {
        return std::abs(v);
      }
    });
  });
  record("abs", {&x}, y, [&] { return AbsVjp{save_input(x, "x"), save_output(y, "y")}; });
  return y;
}

Tensor sign(const Tensor& x) {
  check_floating("sign", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) {
      return (v > T(0) ? T(1) : v < T(0) ? T(-1) : v == T(0) ? T(0) : v);
    });
  });
  record("sign", {&x}, y, [] { return SignVjp{}; });
  return y;
}

Tensor floor(const Tensor& x) {
  check_floating("floor", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::floor(v); });
  });
  record("floor", {&x}, y, [] { return FloorVjp{}; });
  return y;
}

Tensor ceil(const Tensor& x) {
  check_floating("ceil", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::ceil(v); });
  });
  record("ceil", {&x}, y, [] { return CeilVjp{}; });
  return y;
}

Tensor round(const Tensor& x) {
  check_floating("round", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::nearbyint(v); });
  });
  record("round", {&x}, y, [] { return RoundVjp{}; });
  return y;
}

}  // namespace heed
