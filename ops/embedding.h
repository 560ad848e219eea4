#pragma once

#include <cstdint>
#include <optional>

#include <heed/core/tensor.h>

namespace heed {

/// Rows of a table:  y[.., c] = weight[indices[..], c].
/// Shapes    weight [V, C], indices [..] → [.., C].       DTypes  weight f32, f64; indices i32, i64.
/// Gradient  dweight[v] = Σ dy over the places that read row v, and 0 for row padding_index. The same bits
///           for every number of threads.                 Order   any.
/// Saves     indices.
/// Throws    IndexError (an index outside 0 … V−1: value, position, V; before any read), ShapeError,
///           DTypeError, ValueError (padding_index outside 0 … V−1).
Tensor embedding(const Tensor& weight, const Tensor& indices, std::optional<std::int64_t> padding_index = {});

}  // namespace heed
