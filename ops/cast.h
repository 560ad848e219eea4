#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// The same numbers in another dtype; x itself if it has it already.
/// Shapes    any.
/// DTypes    any to any: floating to integer rounds towards 0 and saturates, NaN gives 0; to boolean: x != 0.
/// Gradient  dx = cast(dy, dtype of x) between floating dtypes; otherwise the result is a constant.
/// Order     any.
/// Saves     nothing.
/// Throws    DTypeError (bf16).
Tensor cast(const Tensor& x, DType dtype);

}  // namespace heed
