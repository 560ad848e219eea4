#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <heed/core/node.h>
#include <heed/core/tensor.h>

namespace heed {

/// The first NaN or Inf of a tensor, in row-major order; a NaN goes before an Inf.
struct Nonfinite {
  bool is_nan = false;
  std::int64_t element = 0;  ///< row-major number
};
/// Nothing where all elements are finite, and for tensors that are not floating.
std::optional<Nonfinite> find_nonfinite(const Tensor& x);

namespace detail {

// What AnomalyMode asks. Each throws GradError with operation, module path, place, shape and index.

/// The results of a node just recorded.
void check_results(const Node& node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                   bool may_be_infinite);
/// A complete cotangent, before the node's rule sees it.
void check_cotangent(const Node& node, std::size_t output, const Tensor& cotangent);
/// What the node's rule returned.
void check_gradient(const Node& node, std::size_t input, const Tensor& gradient);

}  // namespace detail
}  // namespace heed
