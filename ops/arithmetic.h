#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Sum, element by element:  y = a + b. Operators + and += are the same; += rebinds the handle.
/// Shapes    broadcast.
/// DTypes    i32, i64, f32, f64; both the same. A C++ number takes the tensor's dtype.
/// Gradient  da = dy, db = dy, summed over broadcast axes.        Order   any.
/// Saves     nothing.
/// Edge      integers wrap.
/// Throws    ShapeError, DTypeError, ValueError (a fraction for an integer tensor).
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, Scalar b);
Tensor add(Scalar a, const Tensor& b);

/// Difference:  y = a − b.
/// Shapes    broadcast.        DTypes  i32, i64, f32, f64.
/// Gradient  da = dy, db = −dy.        Order   any.
/// Saves     nothing.
/// Edge      integers wrap.
/// Throws    ShapeError, DTypeError, ValueError (a fraction for an integer tensor).
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);

/// Product:  y = a b.
/// Shapes    broadcast.        DTypes  i32, i64, f32, f64.
/// Gradient  da = dy b, db = dy a.        Order   any.
/// Saves     a, b.
/// Edge      integers wrap.
/// Throws    ShapeError, DTypeError, ValueError (a fraction for an integer tensor).
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
Tensor mul(Scalar a, const Tensor& b);

/// Quotient:  y = a / b.
/// Shapes    broadcast.        DTypes  i32, i64 (rounded towards 0), f32, f64.
/// Gradient  da = dy / b, db = −dy a / b².        Order   any.
/// Saves     a, b.
/// Throws    ShapeError, DTypeError, ValueError (an integer divided by 0).
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b);
Tensor div(Scalar a, const Tensor& b);

/// Negative:  y = −x.
/// Shapes    any.        DTypes  i32, i64, f32, f64.
/// Gradient  dx = −dy.        Order   any.
/// Saves     nothing.
/// Throws    DTypeError.
Tensor neg(const Tensor& x);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return a = add(a, b); }
inline Tensor& operator-=(Tensor& a, const Tensor& b) { return a = sub(a, b); }
inline Tensor& operator*=(Tensor& a, const Tensor& b) { return a = mul(a, b); }
inline Tensor& operator/=(Tensor& a, const Tensor& b) { return a = div(a, b); }
inline Tensor& operator+=(Tensor& a, Scalar b) { return a = add(a, b); }
inline Tensor& operator-=(Tensor& a, Scalar b) { return a = sub(a, b); }
inline Tensor& operator*=(Tensor& a, Scalar b) { return a = mul(a, b); }
inline Tensor& operator/=(Tensor& a, Scalar b) { return a = div(a, b); }

}  // namespace heed
