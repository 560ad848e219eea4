#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Variance over `axes` (none given: over all) of n elements, in two passes:
///   y = Σ (x − μ)² / max(n − correction, 0),  μ = mean x.
/// correction 1 is the unbiased variance, 0 the biased one.
/// Shapes    x → the axes dropped, or of size 1 with keepdim.    DTypes  f32, f64.
/// Gradient  dx = 2 dy (x − μ) / (n − correction).               Order   any.
/// Saves     x.
/// Edge      n <= correction → NaN, or inf where the sum is not 0.
/// Throws    IndexError (axes), ValueError (an axis twice), DTypeError (x not floating).
Tensor variance(const Tensor& x, const Shape& axes = {}, double correction = 1, bool keepdim = false);

/// Square root of the variance.
/// Shapes, DTypes, Throws  as variance.
/// Gradient  dx = dy (x − μ) / (y (n − correction)), 0 where y = 0.  Order   any.
/// Saves     x, y.
/// Edge      second derivatives where y = 0: as vector_norm's, so that y² has those of the variance.
Tensor standard_deviation(const Tensor& x, const Shape& axes = {}, double correction = 1,
                          bool keepdim = false);

}  // namespace heed
