#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Logarithm of a sum of exponentials over `axes` (none given: over all):
///   y = m + log Σ exp(x − m),  m = max x.
/// Shapes    x → the axes dropped, or of size 1 with keepdim.   DTypes  f32, f64.
/// Gradient  dx = dy exp(x − m) / Σ exp(x − m).                 Order   any.
/// Saves     x.
/// Edge      all −inf, or over nothing → −inf, gradient 0. A +inf → +inf, gradient NaN there and 0 elsewhere.
/// Throws    IndexError (axes), ValueError (an axis twice), DTypeError (x not floating).
Tensor logsumexp(const Tensor& x, const Shape& axes, bool keepdim = false);

}  // namespace heed
