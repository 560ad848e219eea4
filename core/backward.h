#pragma once

#include <span>
#include <vector>

#include <heed/core/tensor.h>

namespace heed {

struct BackwardOptions {
  /// Cotangent of the loss; undefined means 1, for a loss of one element.
  Tensor cotangent = {};
  /// Keep what the graph saved, so that it can be walked again.
  bool retain_graph = false;
};

/// Accumulates d loss / d leaf into `.grad` of every leaf that requires grad. Gradients are stored without
/// history; for higher orders use `grad` with create_graph. Throws GradError (loss without history, graph
/// freed by an earlier call, saved tensor overwritten), ShapeError (loss of several elements without a
/// cotangent, cotangent of another shape).
void backward(const Tensor& loss, const BackwardOptions& options = {});

struct GradOptions {
  /// One cotangent per output; empty, or undefined entries, mean 1 for outputs of one element.
  std::vector<Tensor> grad_outputs = {};
  /// Keep what the graph saved. Implied by create_graph.
  bool retain_graph = false;
  /// Record the backward, so that the gradients can be differentiated again.
  bool create_graph = false;
  /// Return an undefined tensor for an input the outputs do not depend on, instead of throwing.
  bool allow_unused = false;
};

/// Gradients of Σ ⟨cotangent, output⟩ with respect to `inputs` (leaves or results), in their order. `.grad`
/// is left alone. Throws as `backward`, and GradError for an input without history or, unless allow_unused,
/// without a path.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options = {});

/// `grad` of one output with respect to one input.
Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options = {});

}  // namespace heed
