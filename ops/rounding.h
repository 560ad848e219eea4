#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Magnitude:  y = |x|.
/// Shapes    any.        DTypes  i32, i64 (wraps), f32, f64.
/// Gradient  dx = dy sign x, 0 at 0.        Order   any.
/// Saves     x, y.
/// Edge      second derivative at 0: that of f(y) with f'(0) = 0, such as y², is f''(0); of others 0.
/// Throws    DTypeError.
Tensor abs(const Tensor& x);

/// y = −1, 0 or 1; NaN stays.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  0.        Order   any.
/// Saves     nothing.
/// Throws    DTypeError.
Tensor sign(const Tensor& x);

/// Largest whole number that is not above x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  0.        Order   any.
/// Saves     nothing.
/// Throws    DTypeError.
Tensor floor(const Tensor& x);

/// Smallest whole number that is not below x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  0.        Order   any.
/// Saves     nothing.
/// Throws    DTypeError.
Tensor ceil(const Tensor& x);

/// Nearest whole number, half to even.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  0.        Order   any.
/// Saves     nothing.
/// Throws    DTypeError.
Tensor round(const Tensor& x);

}  // namespace heed
