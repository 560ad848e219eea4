#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

// Indices are i32 or i64. All are checked before anything is read: IndexError names
// value, position and bound.

/// Picks along one axis:  y[.., i, ..] = x[.., indices[.., i, ..], ..].
/// Shapes    x [..], indices of x's rank, no longer than x on the other axes → shape of indices.
/// DTypes    x all.
/// Gradient  dx = scatter_add(zeros, axis, indices, dy).  Order   any.
/// Saves     indices.
/// Throws    IndexError (axis, an index outside 0 … n−1), ShapeError, DTypeError (indices).
Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& indices);

/// A copy of x with elements replaced:  y[.., indices[.., i, ..], ..] = source[.., i, ..].
/// Shapes    x [..]; indices and source of one shape, of x's rank, no longer than x on the other axes →
///           shape of x.
/// DTypes    x and source of one dtype, all.
/// Gradient  dx = dy, 0 where replaced; dsource = gather(dy), 0 where a later write replaced it.
/// Order     any.                                         Saves   indices.
/// Edge      of several writes to one element the last stands.
/// Throws    as gather; DTypeError (x and source differ).
Tensor scatter(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source);

/// A copy of x with elements added:  y[.., indices[.., i, ..], ..] += source[.., i, ..], in the order of i.
/// Shapes    as scatter.                                  DTypes  i32, i64, f32, f64.
/// Gradient  dx = dy; dsource = gather(dy).               Order   any.
/// Saves     indices.
/// Throws    as scatter.
Tensor scatter_add(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source);

/// Rows along one axis:  y[.., i, ..] = x[.., indices[i], ..].
/// Shapes    x [.., n, ..], indices [m] → [.., m, ..].    DTypes  x all.
/// Gradient  dx = index_add(zeros, axis, indices, dy).    Order   any.
/// Saves     indices.
/// Throws    IndexError (axis, an index outside 0 … n−1), ShapeError, DTypeError (indices).
Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& indices);

/// x with rows added:  y[.., indices[i], ..] += source[.., i, ..]. The same bits for every number of threads.
/// Shapes    x [.., n, ..], indices [m], source [.., m, ..] → shape of x.  DTypes  i32, i64, f32, f64.
/// Gradient  dx = dy; dsource = index_select(dy).         Order   any.
/// Saves     indices.
/// Throws    as index_select; DTypeError (x and source differ).
Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source);

/// y[.., c] = 1 where indices[..] == c, else 0.
/// Shapes    indices [..] → [.., classes].                DTypes  result: all.
/// Gradient  none: indices are integers.
/// Order     –, the result is a constant.
/// Saves     nothing.
/// Throws    IndexError (an index outside 0 … classes−1), ValueError (classes < 0), DTypeError (indices).
Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype = DType::f32);

}  // namespace heed
