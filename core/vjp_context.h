#pragma once

#include <span>

#include <heed/core/node.h>
#include <heed/core/saved_tensor.h>

namespace heed {

/// What a payload's `vjp` sees: cotangents of the outputs in, cotangents of the inputs out.
class VjpContext {
 public:
  VjpContext(Node& node, std::span<Tensor> cotangents, std::span<Tensor> gradients,
             std::span<const char> needed, bool retained)
      : node_(node), cotangents_(cotangents), gradients_(gradients), needed_(needed), retained_(retained) {}

  /// Whether the gradient of this input is asked for. What is not asked for should not be computed.
  bool needs(int input) const { return needed_[static_cast<std::size_t>(input)] != 0; }
  /// Cotangent of an output; zeros where nothing downstream used that output. It may have any strides.
  const Tensor& cotangent(int output = 0);
  bool has_cotangent(int output) const { return cotangents_[static_cast<std::size_t>(output)].defined(); }
  /// The cotangent of an output, moved out of the context, so that its memory may be reused where nobody else
  /// holds it. Zeros as `cotangent` gives them; after this call `cotangent` gives zeros.
  Tensor take_cotangent(int output = 0);
  /// Sets the gradient of an input: the shape and dtype of that input, any strides.
  void set(int input, Tensor gradient);
  /// The saved tensor; GradError that names operation, argument, shape and versions if it
  /// was written to since.
  Tensor unpack(const SavedTensor& saved) const;
  /// Whether the elements of a saved tensor may be overwritten: this backward frees the graph, they are
  /// dense, and nobody else holds them.
  bool may_overwrite(const SavedTensor& saved) const;
  /// Whether this backward is recorded itself (create_graph): then it must be built from recorded operations.
  bool recording() const;
  /// Whether the rule may take its fused form: this backward is not recorded, and no NoFusion scope is open.
  bool fused() const;

 private:
  Node& node_;
  std::span<Tensor> cotangents_;
  std::span<Tensor> gradients_;
  std::span<const char> needed_;
  bool retained_;
};

}  // namespace heed
