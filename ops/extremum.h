#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

// Some headers define macros of these names; they must not reach the declarations.
#pragma push_macro("max")
#pragma push_macro("min")
#undef max
#undef min

namespace heed {

/// Values with the positions (i64) they were found at.
struct ValuesIndices {
  Tensor values, indices;
};

/// Largest (amin: smallest) element over `axes` (none given: over all).
/// Shapes    x → the axes dropped, or of size 1 with keepdim.   DTypes  i32, i64, f32, f64.
/// Gradient  dx = dy at the extremum; ties share it evenly.     Order   any.
/// Saves     x, y.
/// Edge      a NaN is the extremum. Its row's gradient is NaN.
/// Throws    ValueError (nothing to reduce, an axis twice), IndexError (axes), DTypeError (boolean).
Tensor amax(const Tensor& x, const Shape& axes = {}, bool keepdim = false);
/// As amax, for the smallest.
Tensor amin(const Tensor& x, const Shape& axes = {}, bool keepdim = false);

/// Largest (min: smallest) element along one axis, with its position; the first of equals.
/// Shapes    x [.., n, ..] → values and indices without that axis, or of size 1 with keepdim.
/// DTypes    i32, i64, f32, f64; indices i64.
/// Gradient  dx = dy at the position found.                     Order   any.
/// Saves     indices.
/// Edge      the first NaN is the extremum.
/// Throws    ValueError (nothing to reduce), IndexError (axis), DTypeError (boolean).
ValuesIndices max(const Tensor& x, std::int64_t axis, bool keepdim = false);
/// As max, for the smallest.
ValuesIndices min(const Tensor& x, std::int64_t axis, bool keepdim = false);

/// Position (i64) of the largest / smallest element along one axis; the first of equals, the first NaN.
/// Shapes    x [.., n, ..] → without that axis, or of size 1 with keepdim.  DTypes  i32, i64, f32, f64.
/// Gradient  none: the result is an integer.
/// Order     –, the result is a constant.
/// Saves     nothing.
/// Throws    ValueError (nothing to reduce), IndexError (axis), DTypeError (boolean).
Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdim = false);
/// As argmax, for the smallest.
/// Order     –, the result is a constant.
/// Saves     nothing.
Tensor argmin(const Tensor& x, std::int64_t axis, bool keepdim = false);

}  // namespace heed

#pragma pop_macro("min")
#pragma pop_macro("max")
