#pragma once

#include <string>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::test::fuzz {

/// A smooth function of two [2, 4] tensors (or of the first alone) with a [2, 4] result that is not much
/// larger than its operands, so that graphs of any shape stay tame. `variant` picks an axis or an index.
struct GraphOp {
  std::string formula;
  Tensor (*function)(const Tensor& a, const Tensor& b, std::uint32_t variant);
};

const std::vector<GraphOp>& graph_ops();

}  // namespace heed::test::fuzz
