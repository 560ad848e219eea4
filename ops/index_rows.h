#pragma once

#include <cstdint>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::detail {

/// Indices as row-major i64, each in 0 … bound−1; otherwise DTypeError, or IndexError that names value,
/// position and bound.
Tensor checked_indices(std::string_view op, const Tensor& indices, std::int64_t bound);

/// Rows of x along an axis:  y[.., i, ..] = x[.., indices[i], ..].  indices from `checked_indices`, [n].
/// Gradient  dx = sum_rows(dy).  Recorded as `op`.
Tensor take_rows(const char* op, const Tensor& x, int axis, const Tensor& indices);

/// Zeros with rows added:  y[.., v, ..] = Σ_{i: indices[i] == v} source[.., i, ..], `size` rows along the
/// axis. The rows of one v are added in the order of i, f32 in double, so the bits do not depend on threads.
/// Gradient  dsource = take_rows(dy).
Tensor sum_rows(const Tensor& source, int axis, const Tensor& indices, std::int64_t size);

}  // namespace heed::detail
