#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Square root:  y = √x; NaN below 0.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / (2 y).        Order   any.
/// Saves     y.
/// Throws    DTypeError.
Tensor sqrt(const Tensor& x);

/// y = 1/√x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = −dy y³ / 2.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor rsqrt(const Tensor& x);

/// y = x².
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = 2 dy x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor square(const Tensor& x);

/// y = 1/x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = −dy y².        Order   any.
/// Saves     y.
/// Throws    DTypeError.
Tensor reciprocal(const Tensor& x);

/// Power with a fixed exponent:  y = x^p.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy p x^(p−1), 0 for p = 0.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor pow(const Tensor& x, Scalar exponent);

/// Power:  y = a^b.
/// Shapes    broadcast.        DTypes  f32, f64; both the same.
/// Gradient  da = dy b a^(b−1), 0 where b = 0; db = dy y log a, 0 where a = 0 and b >= 0.        Order   any.
/// Saves     a, b.
/// Throws    ShapeError, DTypeError.
Tensor pow(const Tensor& a, const Tensor& b);

}  // namespace heed
