#pragma once

#include <cstdint>
#include <optional>

#include <heed/core/tensor.h>

namespace heed {

/// The first NaN or Inf of a tensor, in row-major order; a NaN goes before an Inf.
struct Nonfinite {
  bool is_nan = false;
  std::int64_t element = 0;  ///< row-major number
};
/// Nothing where all elements are finite, and for tensors that are not floating.
std::optional<Nonfinite> find_nonfinite(const Tensor& x);

}  // namespace heed
