#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Exponential:  y = e^x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy y.        Order   any.
/// Saves     y.
/// Throws    DTypeError.
Tensor exp(const Tensor& x);

/// y = e^x − 1, exact near 0.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy e^x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor expm1(const Tensor& x);

/// Natural logarithm:  y = log x; −inf at 0, NaN below.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor log(const Tensor& x);

/// y = log(1 + x), exact near 0.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / (1 + x).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor log1p(const Tensor& x);

}  // namespace heed
