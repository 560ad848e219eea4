#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/power.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

struct PowScalarVjp {
  SavedTensor x;
  double exponent = 0;
  void vjp(VjpContext& context) const {  // y = x^p
    const Tensor& dy = context.cotangent();
    if (exponent == 0) return context.set(0, zeros(dy.shape(), dy.dtype()));
    context.set(0, mul(dy, mul(pow(context.unpack(x), exponent - 1), exponent)));
  }
};

struct PowVjp {
  SavedTensor a, b, y;
  void vjp(VjpContext& context) const {  // y = a^b
    const Tensor& dy = context.cotangent();
    const Tensor a_ = context.unpack(a);
    const Tensor b_ = context.unpack(b);
    // Chosen before the power, so that a derivative at a kink meets no 0 · ∞.
    const Tensor constant = eq(b_.detach(), 0);
    if (context.needs(0)) {
      const Tensor slope = mul(b_, pow(masked_fill(a_, constant, 1), sub(b_, 1)));
      context.set(0, mul(dy, masked_fill(slope, constant, 0)));
    }
    if (context.needs(1)) {
      const Tensor flat = logical_and(eq(a_.detach(), 0), ge(b_.detach(), 0));
      context.set(1, mul(dy, mul(context.unpack(y), log(masked_fill(a_, flat, 1)))));
    }
  }
};

struct SqrtVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = √x
    const Tensor y_ = context.unpack(y);
    context.set(0, div(mul(context.cotangent(), 0.5), y_));
  }
};

struct RsqrtVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = 1/√x
    const Tensor y_ = context.unpack(y);
    context.set(0, mul(mul(context.cotangent(), -0.5), mul(y_, square(y_))));
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
  record("rsqrt", {&x}, y, [&] { return RsqrtVjp{save_output(y, "y")}; });
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
  record("pow", {&x}, y, [&] { return PowScalarVjp{save_input(x, "x"), p}; });
  return y;
}

Tensor pow(const Tensor& a, const Tensor& b) {
  check_floating("pow", "a", a);
  check_same_dtype("pow", "a", a, "b", b);
  const detail::Operands x("pow", a, b);
  Tensor y = visit_floating(a.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_binary<T, T>(x.a, x.b, [](T u, T v) { return std::pow(u, v); });
  });
  record("pow", {&x.a, &x.b}, y, [&] {
    return PowVjp{save_input(x.a, "a"), save_input(x.b, "b"), save_output(y, "y")};
  });
  return y;
}

}  // namespace heed
