#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// x itself if it is row-major without gaps, else a copy that is.
/// Shapes    any.        DTypes  any.
/// Gradient  dx = dy.        Order   any.        Saves     nothing.
/// Throws    ValueError (x is undefined).
Tensor contiguous(const Tensor& x);

/// A row-major copy.
/// Shapes    any.        DTypes  any.
/// Gradient  dx = dy.        Order   any.        Saves     nothing.
/// Throws    ValueError (x is undefined).
Tensor clone(const Tensor& x);

}  // namespace heed
