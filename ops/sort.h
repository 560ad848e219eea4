#pragma once

#include <cstdint>

#include <heed/core/tensor.h>
#include <heed/ops/extremum.h>

namespace heed {

/// Sorts along one axis; equal elements keep their order. NaN counts as larger than every number.
/// Shapes    x [.., n, ..] → values and indices (i64), same shape.   DTypes  i32, i64, f32, f64.
/// Gradient  dx[indices] = dvalues.                                  Order   any.
/// Saves     indices.
/// Throws    IndexError (axis), DTypeError (boolean).
ValuesIndices sort(const Tensor& x, std::int64_t axis = -1, bool descending = false);

/// The k largest (or smallest) elements along one axis in order, the best first; the first of equals first.
/// Shapes    x [.., n, ..] → values and indices (i64) [.., k, ..].   DTypes  i32, i64, f32, f64.
/// Gradient  dx[indices] = dvalues, 0 elsewhere.                     Order   any.
/// Saves     indices.
/// Throws    ValueError (k outside 0 … n), IndexError (axis), DTypeError (boolean).
ValuesIndices topk(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool largest = true);

}  // namespace heed
