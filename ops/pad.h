#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Puts `before[k]` elements of `value` before, and `after[k]` after, those of axis k.
/// Shapes    x [n_k] → [before[k] + n_k + after[k]]; one entry for each axis.  DTypes  all.
/// Gradient  dx = dy without the border.              Order   any.
/// Saves     nothing.
/// Throws    ShapeError (number of entries), ValueError (a negative entry).
Tensor pad(const Tensor& x, const Shape& before, const Shape& after, Scalar value = 0);

/// Shifts the elements along each of `axes`; those pushed over the end come in at the start.
/// Shapes    x → same shape; one shift for each axis given.  DTypes  all.
/// Gradient  dx = roll(dy, −shifts, axes).            Order   any.
/// Saves     nothing.
/// Throws    IndexError (axes), ShapeError (numbers of shifts and axes differ).
Tensor roll(const Tensor& x, const Shape& shifts, const Shape& axes);

/// The whole tensor counts[k] times along axis k. More counts than axes add leading axes.
/// Shapes    x [n_k] → [counts[k] n_k].               DTypes  all.
/// Gradient  dx = dy added up over the copies.        Order   any.
/// Saves     nothing.
/// Throws    ShapeError (fewer counts than axes), ValueError (a negative count).
Tensor repeat(const Tensor& x, const Shape& counts);

/// Each element `count` times in a row along one axis.
/// Shapes    x [.., n, ..] → [.., count n, ..].       DTypes  all.
/// Gradient  dx = dy added up over the copies.        Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), ShapeError (x has no axes), ValueError (a negative count).
Tensor repeat_interleave(const Tensor& x, std::int64_t count, std::int64_t axis);

}  // namespace heed
