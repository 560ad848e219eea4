#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Swaps two axes. A view.
/// Shapes    x [.., a, .., b, ..] → [.., b, .., a, ..].  DTypes  all.
/// Gradient  dx = transpose(dy), the same two axes.      Order   any.
/// Saves     nothing.
/// Throws    IndexError (axes).
Tensor transpose(const Tensor& x, std::int64_t axis_a = -2, std::int64_t axis_b = -1);

/// Reorders axes: axis k of the result is axis axes[k] of x. A view.
/// Shapes    x [n_0, n_1, ..] → [n_axes[0], n_axes[1], ..].  DTypes  all.
/// Gradient  dx = permute(dy) by the inverse.                Order   any.
/// Saves     nothing.
/// Throws    ShapeError (axes are no permutation), IndexError (an axis out of range).
Tensor permute(const Tensor& x, const Shape& axes);

}  // namespace heed
