#pragma once

#include <heed/core/tensor.h>

namespace heed::detail {

/// What layer_norm (center) and rms_norm (not center) share: checks the arguments, normalises the rows, which
/// are the last axes as `normalized_shape` counts them, and records.
Tensor normalize(const char* op, bool center, const Tensor& x, const Shape& normalized_shape,
                 const Tensor& weight, const Tensor& bias, double epsilon);

}  // namespace heed::detail
