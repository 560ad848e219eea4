#pragma once

#include <heed/core/random.h>
#include <heed/core/tensor.h>

namespace heed {

/// y = x ⊙ keep / (1 − p), where each element is kept with probability 1 − p. p = 0 gives x itself,
/// p = 1 zeros.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy ⊙ keep / (1 − p), with the same keep.        Order   any.
/// Saves     keep.
/// Throws    ValueError (p outside [0, 1]), DTypeError.
Tensor dropout(const Tensor& x, double p, Generator& generator);

/// The same with a given keep mask.
/// Shapes    keep expands to the shape of x.        DTypes  x f32, f64; keep boolean.
/// Gradient  dx = dy ⊙ keep / (1 − p), 0 for p = 1.        Order   any.
/// Saves     keep.
/// Throws    ValueError (p outside [0, 1]), ShapeError, DTypeError.
Tensor dropout_with_keep(const Tensor& x, const Tensor& keep, double p);

}  // namespace heed
