#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Gated linear unit:  y = a sigmoid(b), a and b the first and the second half of x along `axis`.
/// Shapes    x [.., 2n, ..] → y [.., n, ..].        DTypes  f32, f64.
/// Gradient  da = dy s, db = dy a s (1 − s), s = sigmoid(b).        Order   any.
/// Saves     what the operations it is written in save.
/// Throws    DTypeError, IndexError (axis), ShapeError (no axis, or an odd size along it).
Tensor glu(const Tensor& x, std::int64_t axis = -1);

/// y = silu(a) b, a and b the first and the second half of x along `axis`.
/// Shapes    x [.., 2n, ..] → y [.., n, ..].        DTypes  f32, f64.
/// Gradient  da = dy b silu'(a), db = dy silu(a).        Order   any.
/// Saves     what the operations it is written in save.
/// Throws    DTypeError, IndexError (axis), ShapeError (no axis, or an odd size along it).
Tensor swiglu(const Tensor& x, std::int64_t axis = -1);

}  // namespace heed
