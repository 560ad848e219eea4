#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// The same elements, row-major, under another shape; at most one size may be −1 and is filled in.
/// Shapes    x any → shape, of equal element count.  DTypes  all.
/// Result    x itself for its own shape, a view where strides allow it, else a copy.
/// Gradient  dx = reshape(dy, x.shape).              Order   any.
/// Saves     nothing.
/// Throws    ShapeError (element counts differ, a size below −1, two sizes of −1).
Tensor reshape(const Tensor& x, const Shape& shape);

/// Joins the axes first … last to one; a tensor without axes becomes [1].
/// Shapes    x [.., a, b, c, ..] → [.., a·b·c, ..].  DTypes  all.
/// Gradient, Order, Saves  as reshape.
/// Throws    IndexError (axes), ValueError (first after last).
Tensor flatten(const Tensor& x, std::int64_t first = 0, std::int64_t last = -1);

}  // namespace heed
