#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Repeats axes of size 1, and new leading axes, without copying: a view with strides of 0.
/// Shapes    x [..] → y `shape`; sizes equal or 1, aligned at the last axis. The same shape gives x itself.
/// DTypes    any.
/// Gradient  dx = sum_to(dy, shape of x).          Order   any.
/// Saves     nothing.
/// Edge      the view cannot be written to (ValueError of mutable_data).
/// Throws    ShapeError (shape does not fit).
Tensor expand(const Tensor& x, const Shape& shape);

/// Sum over the axes that `expand(·, shape of x)` would repeat:  y_k = Σ_r x_{r,k}.
/// Shapes    x [..] → y `shape`, where `shape` expands to the shape of x. The same shape gives x itself.
/// DTypes    i32, i64 (wrap), f32 (accumulated in double), f64.
/// Gradient  dx = expand(dy, shape of x).          Order   any.
/// Saves     nothing.
/// Edge      a sum of nothing is 0.
/// Throws    ShapeError (shape does not fit), DTypeError.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace heed
