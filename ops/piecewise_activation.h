#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// y = x for x > 0, else α (e^x − 1).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for x > 0, else dy α e^x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor elu(const Tensor& x, double alpha = 1);

/// y = x for x > 0, else slope · x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for x > 0, else slope · dy.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);

/// y = min(max(x, 0), 6); NaN stays.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for 0 < x < 6, else 0.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor relu6(const Tensor& x);

/// y = x relu6(x + 3) / 6.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy · (0 for x < −3, x/3 + ½ for −3 <= x <= 3, else 1).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor hardswish(const Tensor& x);

}  // namespace heed
