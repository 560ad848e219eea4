#pragma once

#include <optional>

#include <heed/core/random.h>
#include <heed/nn/activation.h>
#include <heed/nn/linear.h>

namespace heed::nn {

struct MLPOptions {
  std::int64_t dim = 0;     // of input and output
  std::int64_t hidden = 0;  // 0: four times dim
  bool bias = true;
  Activation activation = Activation::gelu;
  bool gated = false;
};

/// The options with the hidden size filled in if it was left 0.
MLPOptions resolved(MLPOptions options);

/// y = down(activation(up(x))); if gated, y = down(activation(gate(x)) ⊙ up(x)), which with silu is SwiGLU.
/// Shapes    x [.., dim] → y [.., dim].
/// Throws    ValueError (a size below 1), at the call what `linear` throws.
class MLP final : public Module {
  MLPOptions options_;  // first: the members below are made from it

 public:
  MLP(const MLPOptions& options, Generator& generator);
  /// As given, with defaults for what was left out.
  const MLPOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Linear up;
  std::optional<Linear> gate;  // up's shape
  Linear down;

 protected:
  HEED_MEMBERS(up, gate, down)
};

}  // namespace heed::nn
