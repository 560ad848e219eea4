#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Whether some element over `axes` (none given: over all) is true, as a boolean tensor.
/// Shapes    x → the axes dropped, or of size 1 with keepdim.   DTypes  boolean.
/// Gradient  none: the result is a constant.        Order   –.        Saves     nothing.
/// Edge      over nothing: false.
/// Throws    IndexError (axes), ValueError (an axis twice), DTypeError (x not boolean).
Tensor any(const Tensor& x, const Shape& axes = {}, bool keepdim = false);

/// Whether all elements over `axes` (none given: over all) are true, as a boolean tensor.
/// Shapes, DTypes, Gradient, Order, Saves, Throws: as any.
/// Edge      over nothing: true.
Tensor all(const Tensor& x, const Shape& axes = {}, bool keepdim = false);

}  // namespace heed
