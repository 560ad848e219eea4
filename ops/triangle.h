#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Lower triangle of the last two axes:  y_ij = x_ij where j − i <= diagonal, else 0.
/// Shapes    x [.., n, m] → same shape.      DTypes  all.
/// Gradient  dx = tril(dy, diagonal).        Order   any.
/// Saves     nothing.
/// Throws    ShapeError (fewer than 2 axes).
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);

/// Upper triangle of the last two axes:  y_ij = x_ij where j − i >= diagonal, else 0.
/// Shapes, DTypes, Saves, Throws  as tril.
/// Gradient  dx = triu(dy, diagonal).        Order   any.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

}  // namespace heed
