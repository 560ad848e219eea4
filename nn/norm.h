#pragma once

#include <optional>

#include <heed/nn/module.h>

namespace heed::nn {

/// Which norm a model uses.
enum class NormKind { layer, rms };

struct NormOptions {
  Shape normalized_shape = {};  // the last axes of the input
  NormKind kind = NormKind::layer;
  std::optional<double> epsilon = {};  // 1e-5 for layer and 1e-6 for rms if not given
  bool bias = true;                    // of NormKind::layer only
};

/// The options with defaults for what was left out.
/// Throws    ValueError (no axes, ε < 0).
NormOptions resolved(NormOptions options);

/// Statistics over the last axes:
///   layer: y = (x − mean) / √(variance + ε) ⊙ weight + bias.   rms: y = x / √(mean x² + ε) ⊙ weight.
/// Start     weight 1, bias 0.
/// Throws    ValueError (as `resolved`), at the call what `layer_norm` and `rms_norm` throw.
class Norm : public Module {
  NormOptions options_;  // first: the members below are made from it

 public:
  explicit Norm(const NormOptions& options);
  /// As given, with defaults for what was left out.
  const NormOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;
  Tensor bias;

 protected:
  HEED_MEMBERS(weight, bias)
};

/// A Norm whose kind is fixed, whatever the options say: LayerNorm and RMSNorm below.
template <NormKind norm_kind>
class NormOf final : public Norm {
 public:
  explicit NormOf(const NormOptions& options) : Norm(of_kind(options)) {}

 private:
  static NormOptions of_kind(NormOptions options) {
    options.kind = norm_kind;
    return options;
  }
};
using LayerNorm = NormOf<NormKind::layer>;
using RMSNorm = NormOf<NormKind::rms>;

}  // namespace heed::nn
