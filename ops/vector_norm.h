#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// p-norm over `axes` (none given: over all):  y = (Σ |x|^p)^(1/p);  p = inf: y = max |x|.
/// Added up in double, f64 in extended precision, so that squares of large numbers do not overflow; powers of
/// other orders are those of |x| / max |x|.
/// Shapes    x → the axes dropped, or of size 1 with keepdim.     DTypes  f32, f64.
/// Gradient  dx = dy sign(x) (|x| / y)^(p−1), 0 where y = 0 or, for p <= 1, where x = 0;
///           p = inf: dy sign(x) at the largest, shared by ties.  Order   any.
/// Saves     x, y.
/// Edge      over nothing: 0, and an error for p = inf. Second derivatives where y = 0: for p = 2 that of
///           f(y) with f'(0) = 0, such as y², is f''(0) times the identity; where none exists it is NaN.
/// Throws    ValueError (p <= 0 or NaN, an axis twice, p = inf over nothing), IndexError (axes), DTypeError.
Tensor vector_norm(const Tensor& x, double order = 2, const Shape& axes = {}, bool keepdim = false);

}  // namespace heed
