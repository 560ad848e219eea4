#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Choice, element by element:  y = condition ? a : b.
/// Shapes    broadcast.        DTypes  condition boolean; a and b any, both the same.
/// Gradient  da = condition ? dy : 0, db = condition ? 0 : dy.        Order   any.
/// Saves     condition.
/// Edge      The branch not taken gets a zero cotangent, but its own derivative may still be infinite,
///           and 0 · ∞ is NaN. Safe pattern: choose a harmless argument first,
///           where(x > 0, log(where(x > 0, x, 1)), 0).
/// Throws    ShapeError, DTypeError.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);

/// y = mask ? value : x.
/// Shapes    mask expands to the shape of x.        DTypes  mask boolean; x any.
/// Gradient  dx = mask ? 0 : dy.        Order   any.
/// Saves     mask.
/// Throws    ShapeError, DTypeError.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

}  // namespace heed
