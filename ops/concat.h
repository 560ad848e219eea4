#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <heed/core/tensor.h>

namespace heed {

/// Joins tensors along an existing axis.
/// Shapes    x_i [.., n_i, ..], else alike → [.., Σ n_i, ..].  DTypes  all, one for all.
/// Gradient  dx_i = part i of split(dy).                       Order   any.
/// Saves     nothing.
/// Throws    ValueError (no tensors), IndexError (axis), ShapeError, DTypeError.
Tensor concat(std::span<const Tensor> tensors, std::int64_t axis = 0);
Tensor concat(std::initializer_list<Tensor> tensors, std::int64_t axis = 0);

/// Joins tensors of one shape along a new axis.
/// Shapes    N tensors [n_0, ..] → one axis more, of size N, before `axis`.  DTypes  all, one for all.
/// Gradient  dx_i = select(dy, axis, i).                                     Order   any.
/// Saves     nothing.
/// Throws    ValueError (no tensors), IndexError (axis), ShapeError, DTypeError.
Tensor stack(std::span<const Tensor> tensors, std::int64_t axis = 0);
Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t axis = 0);

/// Cuts an axis into parts of the given sizes, or of one size (the last part may be shorter). Views, recorded
/// as one operation.
/// Shapes    x [.., n, ..] → [.., sizes[i], ..].    DTypes  all.
/// Gradient  dx = concat of the parts' cotangents.  Order   any.
/// Saves     nothing.
/// Throws    IndexError (axis), ValueError (size < 1, or a size < 0), ShapeError (sizes do not add up to n).
std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0);

}  // namespace heed
