#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <heed/core/elements.h>
#include <heed/core/strided_loop.h>
#include <heed/core/tensor.h>

namespace heed::kernels {
enum class Map : int;
enum class Map2 : int;
}  // namespace heed::kernels

namespace heed::detail {

/// A number as a tensor without axes, of x's dtype. ValueError for a number that is not whole where x is
/// an integer tensor.
Tensor scalar_like(std::string_view op, const Tensor& x, Scalar value);

/// Both operands expanded to their common shape. An operand that has it already is held by reference.
class Operands {
  Tensor expanded_a_, expanded_b_;

 public:
  Operands(std::string_view op, const Tensor& given_a, const Tensor& given_b);
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  const Tensor& a;
  const Tensor& b;
};

/// y[i] = f(x[i]) as a new row-major tensor; f maps T to the element type of y.
template <class T, class F>
Tensor map_unary(const Tensor& x, F&& f) {
  using U = std::remove_cvref_t<std::invoke_result_t<F, T>>;
  Tensor y = empty(x.shape(), dtype_of<U>);
  U* to = y.mutable_data<U>();
  const T* from = x.data<T>() - x.offset();
  StridedLoop<2>({&y.view(), &x.view()}).run_parallel([&](const auto& at, const auto& step, auto count) {
    U* out = to + at[0];
    const T* in = from + at[1];
    if (step[1] == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = f(in[i * step[1]]);
    }
  });
  return y;
}

/// y[i] = f(a[i], b[i]) for operands of one shape, as a new row-major tensor.
template <class A, class B, class F>
Tensor map_binary(const Tensor& a, const Tensor& b, F&& f) {
  using U = std::remove_cvref_t<std::invoke_result_t<F, A, B>>;
  Tensor y = empty(a.shape(), dtype_of<U>);
  U* to = y.mutable_data<U>();
  const A* from_a = a.data<A>() - a.offset();
  const B* from_b = b.data<B>() - b.offset();
  const StridedLoop<3> loop({&y.view(), &a.view(), &b.view()});
  loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
    U* out = to + at[0];
    const A* p = from_a + at[1];
    const B* q = from_b + at[2];
    if (step[1] == 1 && step[2] == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = f(p[i], q[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = f(p[i * step[1]], q[i * step[2]]);
    }
  });
  return y;
}

/// The same by a vector kernel, for f32. An operand given as an rvalue may be overwritten: its memory becomes
/// that of the result where it is row-major and nobody else holds it.
Tensor map_kernel(kernels::Map f, const Tensor& x);
Tensor map_kernel(kernels::Map2 f, const Tensor& a, const Tensor& b);
Tensor map_kernel(kernels::Map2 f, const Tensor& a, Tensor&& b);

/// f32 by the vector kernel, f64 by `f`.
template <class F>
Tensor map_floating(kernels::Map kernel, const Tensor& x, F&& f) {
  return x.dtype() == DType::f32 ? map_kernel(kernel, x) : map_unary<double>(x, std::forward<F>(f));
}
template <class F>
Tensor map_floating(kernels::Map2 kernel, const Tensor& a, Tensor&& b, F&& f) {
  if (a.dtype() == DType::f32) return map_kernel(kernel, a, std::move(b));
  return map_binary<double, double>(a, b, std::forward<F>(f));
}

/// Both floating dtypes by the generic `f`.
template <class F>
Tensor map_floating(const Tensor& x, F&& f) {
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) { return map_unary<T>(x, f); });
}

/// Both floating dtypes by a generic `f`: f32 in double, f64 in long double, rounded once. Where long double
/// is no wider than double, as with MSVC, f64 keeps fewer digits in the tails of exponentials.
template <class F>
Tensor map_wide(const Tensor& x, F&& f) {
  if (x.dtype() == DType::f32)
    return map_unary<float>(x, [&](float v) { return static_cast<float>(f(static_cast<double>(v))); });
  return map_unary<double>(x, [&](double v) { return static_cast<double>(f(static_cast<long double>(v))); });
}
template <class F>
Tensor map_wide(const Tensor& a, const Tensor& b, F&& f) {
  if (a.dtype() == DType::f32) {
    return map_binary<float, float>(a, b, [&](float u, float v) {
      return static_cast<float>(f(static_cast<double>(u), static_cast<double>(v)));
    });
  }
  return map_binary<double, double>(a, b, [&](double u, double v) {
    return static_cast<double>(f(static_cast<long double>(u), static_cast<long double>(v)));
  });
}

}  // namespace heed::detail
