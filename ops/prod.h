#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Product of all elements, or along one axis. f32 is multiplied in double.
/// Shapes    x [.., n, ..] → without that axis, or of size 1 with keepdim.
/// DTypes    i32, i64 (wrap), f32, f64.
/// Gradient  dx_i = dy Π_{j≠i} x_j, from products of the elements before and after i: exact with any number
///           of zeros.                                   Order   any.
/// Saves     x.
/// Edge      over nothing: 1.
/// Throws    IndexError (axis), DTypeError (boolean).
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, std::int64_t axis, bool keepdim = false);

/// Running sum along one axis:  y_i = Σ_{j<=i} x_j. f32 is added up in double.
/// Shapes    x → same shape.                              DTypes  i32, i64 (wrap), f32, f64.
/// Gradient  dx_j = Σ_{i>=j} dy_i.                        Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), DTypeError (boolean).
Tensor cumsum(const Tensor& x, std::int64_t axis);

/// Running product along one axis:  y_i = Π_{j<=i} x_j.
/// Shapes    x → same shape.                              DTypes  i32, i64 (wrap), f32, f64.
/// Gradient  dx_j = Σ_{i>=j} dy_i Π_{k<=i, k≠j} x_k, without division: exact with zeros.  Order   any.
/// Saves     x, y.
/// Throws    IndexError (axis), DTypeError (boolean).
Tensor cumprod(const Tensor& x, std::int64_t axis);

}  // namespace heed
