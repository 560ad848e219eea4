#include <cmath>
#include <functional>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/any_all.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>

namespace heed {
namespace {

template <class F>
Tensor compare(const char* op, const Tensor& a, const Tensor& b, bool ordered, F f) {
  check_same_dtype(op, "a", a, "b", b);
  if (ordered) check_numeric(op, "a", a);
  const NoGrad guard;
  const detail::Operands x(op, a, b);
  return visit_dtype(a.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_binary<T, T>(x.a, x.b, [&](T u, T v) { return static_cast<bool>(f(u, v)); });
  });
}

template <class F>
Tensor logical(const char* op, const Tensor& a, const Tensor& b, F f) {
  check_dtype(op, "a", a, {DType::boolean});
  check_dtype(op, "b", b, {DType::boolean});
  const detail::Operands x(op, a, b);
  return detail::map_binary<bool, bool>(x.a, x.b, [&](bool u, bool v) { return static_cast<bool>(f(u, v)); });
}

template <class Test>
Tensor classify(const char* op, const Tensor& x, bool of_integers, Test test) {
  check_defined(op, "x", x);
  return visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [&](T v) {
      if constexpr (std::is_floating_point_v<T>) return static_cast<bool>(test(v));
      return of_integers;
    });
  });
}

Tensor close(const char* op, const Tensor& a, const Tensor& b, const Closeness& closeness) {
  const double rtol = closeness.rtol;
  const double atol = closeness.atol;
  const bool equal_nan = closeness.equal_nan;
  check_value(rtol >= 0, op, "rtol", rtol, "0 or more");
  check_value(atol >= 0, op, "atol", atol, "0 or more");
  return compare(op, a, b, false, [&]<class T>(T u, T v) {
    if (u == v) return true;
    const auto x = static_cast<double>(u);
    const auto y = static_cast<double>(v);
    if (std::isnan(x) || std::isnan(y)) return equal_nan && std::isnan(x) && std::isnan(y);
    const double bound = atol + rtol * std::fabs(y);
    return bound > 0 && std::isfinite(x) && std::isfinite(y) && std::fabs(x - y) <= bound;
  });
}

}  // namespace

Tensor isnan(const Tensor& x) {
  return classify("isnan", x, false, [](auto v) { return std::isnan(v); });
}
Tensor isinf(const Tensor& x) {
  return classify("isinf", x, false, [](auto v) { return std::isinf(v); });
}
Tensor isfinite(const Tensor& x) {
  return classify("isfinite", x, true, [](auto v) { return std::isfinite(v); });
}

Tensor isclose(const Tensor& a, const Tensor& b, const Closeness& closeness) {
  return close("isclose", a, b, closeness);
}
bool allclose(const Tensor& a, const Tensor& b, const Closeness& closeness) {
  return all(close("allclose", a, b, closeness)).item<bool>();
}

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", a, b, false, std::equal_to<>()); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", a, b, false, std::not_equal_to<>()); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", a, b, true, std::less<>()); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", a, b, true, std::less_equal<>()); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", a, b, true, std::greater<>()); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", a, b, true, std::greater_equal<>()); }

Tensor eq(const Tensor& a, Scalar b) { return eq(a, detail::scalar_like("eq", a, b)); }
Tensor ne(const Tensor& a, Scalar b) { return ne(a, detail::scalar_like("ne", a, b)); }
Tensor lt(const Tensor& a, Scalar b) { return lt(a, detail::scalar_like("lt", a, b)); }
Tensor le(const Tensor& a, Scalar b) { return le(a, detail::scalar_like("le", a, b)); }
Tensor gt(const Tensor& a, Scalar b) { return gt(a, detail::scalar_like("gt", a, b)); }
Tensor ge(const Tensor& a, Scalar b) { return ge(a, detail::scalar_like("ge", a, b)); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return logical("logical_and", a, b, std::logical_and<>());
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  return logical("logical_or", a, b, std::logical_or<>());
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return logical("logical_xor", a, b, std::not_equal_to<>());
}

Tensor logical_not(const Tensor& a) {
  check_dtype("logical_not", "a", a, {DType::boolean});
  return detail::map_unary<bool>(a, [](bool v) { return !v; });
}

}  // namespace heed
