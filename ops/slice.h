#pragma once

#include <cstdint>
#include <optional>

#include <heed/core/tensor.h>

namespace heed {

/// Elements start, start+step, … before stop along one axis, with NumPy's rules: negative positions count
/// from the end, positions out of range are clipped, a negative step walks backwards. A view.
/// Shapes    x [.., n, ..] → [.., m, ..].                  DTypes  all.
/// Gradient  dx = zeros with dy at the elements taken.     Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), ValueError (step of 0), ShapeError (x has no axes).
Tensor slice(const Tensor& x, std::int64_t axis, std::optional<std::int64_t> start = {},
             std::optional<std::int64_t> stop = {}, std::int64_t step = 1);

/// One position of an axis, which disappears. A view. Negative positions count from the end.
/// Shapes    x [.., n, ..] → without that axis.            DTypes  all.
/// Gradient  dx = zeros with dy at that position.          Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis, index).
Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index);

/// Positions start … start+length−1 of an axis, without clipping. A view.
/// Shapes    x [.., n, ..] → [.., length, ..].             DTypes  all.
/// Gradient  dx = zeros with dy at these positions.        Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis, or 0 <= start <= start+length <= n does not hold).
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);

/// Reverses the order along each of `axes`. A view.
/// Shapes    x → same shape.                               DTypes  all.
/// Gradient  dx = flip(dy, axes).                          Order   any.
/// Saves     nothing.
/// Throws    IndexError (axes), ValueError (an axis twice).
Tensor flip(const Tensor& x, const Shape& axes);

}  // namespace heed
