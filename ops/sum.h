#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Sum over `axes` (none given: over all). f32 is added up in double.
/// Shapes    x → the axes dropped, or of size 1 with keepdim.  DTypes  i32, i64 (wrap), f32, f64.
/// Gradient  dx = dy expanded over the axes.                   Order   any.
/// Saves     nothing.
/// Edge      over nothing: 0.
/// Throws    IndexError (axes), ValueError (an axis twice), DTypeError (boolean).
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Shape& axes, bool keepdim = false);

/// Mean over `axes` (none given: over all): the sum, in double, divided by the number n of elements.
/// Shapes    as sum.                                           DTypes  f32, f64.
/// Gradient  dx = dy / n expanded over the axes.               Order   any.
/// Saves     nothing.
/// Edge      over nothing: NaN.
/// Throws    IndexError (axes), ValueError (an axis twice), DTypeError (x not floating).
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Shape& axes, bool keepdim = false);

}  // namespace heed
