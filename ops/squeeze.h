#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Drops an axis of size 1. A view; a tensor without axes stays as it is.
/// Shapes    x [.., 1, ..] → without that axis.  DTypes  all.
/// Gradient  dx = unsqueeze(dy, axis).           Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), ShapeError (the axis is longer, or of size 0).
Tensor squeeze(const Tensor& x, std::int64_t axis);

/// Inserts an axis of size 1 before `axis`; −1 is after the last. A view.
/// Shapes    x [n_0, ..] → one axis more, of size 1.  DTypes  all.
/// Gradient  dx = squeeze(dy, axis).                  Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), ShapeError (more than 8 axes).
Tensor unsqueeze(const Tensor& x, std::int64_t axis);

}  // namespace heed
