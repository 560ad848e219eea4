#pragma once

#include <heed/core/tensor.h>

namespace heed::detail {

/// Shared by layer_norm (center) and rms_norm: checks, rows of the last axes of `normalized_shape`, record.
Tensor normalize(const char* op, bool center, const Tensor& x, const Shape& normalized_shape,
                 const Tensor& weight, const Tensor& bias, double epsilon);

}  // namespace heed::detail
