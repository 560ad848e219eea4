#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Sine, in radians:  y = sin x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy cos x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor sin(const Tensor& x);

/// Cosine, in radians:  y = cos x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = −dy sin x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor cos(const Tensor& x);

/// Tangent, in radians:  y = tan x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy (1 + y²).        Order   any.
/// Saves     y.
/// Throws    DTypeError.
Tensor tan(const Tensor& x);

/// Inverse sine, in radians:  y = asin x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / √(1 − x²).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor asin(const Tensor& x);

/// Inverse tangent, in radians:  y = atan x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / (1 + x²).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor atan(const Tensor& x);

/// Angle of the point (b, a), in radians:  y = atan2(a, b).
/// Shapes    broadcast.        DTypes  f32, f64; both the same.
/// Gradient  da = dy b / (a² + b²), db = −dy a / (a² + b²).        Order   any.
/// Saves     a, b.
/// Throws    ShapeError, DTypeError.
Tensor atan2(const Tensor& a, const Tensor& b);

}  // namespace heed
