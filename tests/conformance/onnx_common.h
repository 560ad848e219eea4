#pragma once

#include <optional>

#include <heed/core/dtype.h>

#include "call.h"

namespace heed::conformance {

/// The axes given as input `position` or, in older versions, as attribute
/// `axes`; nothing where neither is.
std::optional<Shape> axes_given(const Call& call, std::size_t position);

/// Shape of 1 with `size` at `axis`, to line a vector up with that axis.
Tensor along_axis(const Tensor& vector, int axis, int rank);

/// Indices of i64 with the negative ones, which count from the end, brought
/// into 0 … size − 1.
Tensor from_the_front(const Tensor& indices, std::int64_t size);

/// heed's type for an ONNX TensorProto.DataType; Skip where there is none.
DType dtype_of_onnx(std::int64_t type);

/// ONNX before version 7 aligned the second operand's axes with those of the
/// first from attribute `axis` on.
Tensor aligned_operand(const Call& call, const Tensor& first, const Tensor& second);

}  // namespace heed::conformance
