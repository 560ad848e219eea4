#include <limits>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/kernels/elementwise_kernels.h>

namespace heed {
namespace {

using kernels::Map2;

// Integers wrap: computed without sign, where overflow is defined.
template <class T, class F>
T wrapped(T a, T b, F&& f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

// f32 by the vector kernel, the other dtypes by `f`. Operands have one shape.
template <class F>
Tensor combine(Map2 kernel, const Tensor& a, const Tensor& b, F&& f) {
  if (a.dtype() == DType::f32) return detail::map_kernel(kernel, a, b);
  return visit_numeric(a.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_binary<T, T>(a, b, [&](T x, T y) { return wrapped(x, y, f); });
  });
}

detail::Operands operands(std::string_view op, const Tensor& a, const Tensor& b) {
  check_numeric(op, "a", a);
  check_numeric(op, "b", b);
  check_same_dtype(op, "a", a, "b", b);
  return {op, a, b};
}

struct AddVjp {
  void vjp(VjpContext& context) const {  // y = a + b
    context.set(0, context.cotangent());
    context.set(1, context.cotangent());
  }
};

struct SubVjp {
  void vjp(VjpContext& context) const {  // y = a − b
    context.set(0, context.cotangent());
    if (context.needs(1)) context.set(1, neg(context.cotangent()));
  }
};

struct MulVjp {
  SavedTensor a, b;
  void vjp(VjpContext& context) const {  // y = a b
    if (context.needs(0)) context.set(0, mul(context.cotangent(), context.unpack(b)));
    if (context.needs(1)) context.set(1, mul(context.cotangent(), context.unpack(a)));
  }
};

// a / b^n for the derivatives of a quotient: in a wider type, since 1 / b may overflow where a / b² does not.
Tensor over_power(const Tensor& a, const Tensor& b, int n);

struct QuotientVjp {
  SavedTensor a, b;
  int n = 1;
  void vjp(VjpContext& context) const {  // y = a / b^n
    const Tensor& dy = context.cotangent();
    const Tensor b_ = context.unpack(b);
    if (context.needs(0)) context.set(0, n == 1 ? div(dy, b_) : over_power(dy, b_, n));
    if (context.needs(1)) context.set(1, mul(mul(dy, over_power(context.unpack(a), b_, n + 1)), -n));
  }
};

Tensor over_power(const Tensor& a, const Tensor& b, int n) {
  Tensor y = detail::map_wide(a, b, [n](auto u, auto v) {
    for (int k = 0; k < n; ++k) u /= v;
    return u;
  });
  record("div", {&a, &b}, y, [&] { return QuotientVjp{save_input(a, "a"), save_input(b, "b"), n}; });
  return y;
}

struct NegVjp {
  void vjp(VjpContext& context) const { context.set(0, neg(context.cotangent())); }  // y = −x
};

template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0)
      fail<ValueError>("div", "an integer is divided by 0", fmt::format("{} / 0", a),
                       "a divisor other than 0");
    // The one quotient that does not fit wraps.
    if (b == -1) return wrapped(T(0), a, [](auto x, auto y) { return x - y; });
  }
  return a / b;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const auto x = operands("add", a, b);
  Tensor y = combine(Map2::add, x.a, x.b, [](auto u, auto v) { return static_cast<decltype(u)>(u + v); });
  record("add", {&x.a, &x.b}, y, [] { return AddVjp{}; });
  return y;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const auto x = operands("sub", a, b);
  Tensor y = combine(Map2::sub, x.a, x.b, [](auto u, auto v) { return static_cast<decltype(u)>(u - v); });
  record("sub", {&x.a, &x.b}, y, [] { return SubVjp{}; });
  return y;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const auto x = operands("mul", a, b);
  Tensor y = combine(Map2::mul, x.a, x.b, [](auto u, auto v) { return static_cast<decltype(u)>(u * v); });
  record("mul", {&x.a, &x.b}, y, [&] {
    // Each operand is kept for the gradient of the other.
    return MulVjp{x.b.requires_grad() ? save_input(x.a, "a") : SavedTensor(),
                  x.a.requires_grad() ? save_input(x.b, "b") : SavedTensor()};
  });
  return y;
}

Tensor div(const Tensor& a, const Tensor& b) {
  const auto x = operands("div", a, b);
  Tensor y = x.a.dtype() == DType::f32
                 ? detail::map_kernel(Map2::div, x.a, x.b)
                 : visit_numeric(x.a.dtype(), [&]<class T>(std::type_identity<T>) {
                     return detail::map_binary<T, T>(x.a, x.b, [](T u, T v) { return quotient(u, v); });
                   });
  record("div", {&x.a, &x.b}, y, [&] {
    return QuotientVjp{x.b.requires_grad() ? save_input(x.a, "a") : SavedTensor(), save_input(x.b, "b")};
  });
  return y;
}

Tensor neg(const Tensor& x) {
  check_numeric("neg", "x", x);
  Tensor y = visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) {
      if constexpr (std::is_integral_v<T>) return wrapped(T(0), v, [](auto a, auto b) { return a - b; });
      return static_cast<T>(-v);
    });
  });
  record("neg", {&x}, y, [] { return NegVjp{}; });
  return y;
}

Tensor add(const Tensor& a, Scalar b) { return add(a, detail::scalar_like("add", a, b)); }
Tensor add(Scalar a, const Tensor& b) { return add(detail::scalar_like("add", b, a), b); }
Tensor sub(const Tensor& a, Scalar b) { return sub(a, detail::scalar_like("sub", a, b)); }
Tensor sub(Scalar a, const Tensor& b) { return sub(detail::scalar_like("sub", b, a), b); }
Tensor mul(const Tensor& a, Scalar b) { return mul(a, detail::scalar_like("mul", a, b)); }
Tensor mul(Scalar a, const Tensor& b) { return mul(detail::scalar_like("mul", b, a), b); }
Tensor div(const Tensor& a, Scalar b) { return div(a, detail::scalar_like("div", a, b)); }
Tensor div(Scalar a, const Tensor& b) { return div(detail::scalar_like("div", b, a), b); }

}  // namespace heed
