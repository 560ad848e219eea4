#pragma once

#include <cstdint>
#include <optional>

#include <heed/core/tensor.h>

namespace heed {

/// The first NaN of a tensor in row-major order or, if it has none, the first Inf.
struct Nonfinite {
  bool is_nan = false;
  std::int64_t element = 0;  ///< row-major index
};
/// Nothing where all elements are finite, and for tensors that are not floating.
std::optional<Nonfinite> find_nonfinite(const Tensor& x);

}  // namespace heed
