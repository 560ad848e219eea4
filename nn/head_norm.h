#pragma once

#include <optional>

#include <heed/nn/module.h>

namespace heed::nn {

/// Which norm queries and keys pass, head by head.
enum class QkNorm { none, rms, layer };

struct HeadNormOptions {
  std::int64_t head_dim = 0;
  QkNorm kind = QkNorm::none;
  std::optional<double> epsilon = {};  // 1e-6 for rms, 1e-5 for layer if not given
};

/// Normalises every head over its own channels; all heads share one weight (and bias).
///   none: y = x.   rms: y = x / √(mean x² + ε) ⊙ weight.   layer: y = (x − mean) / √(variance + ε) ⊙ weight + bias.
/// Shapes    x [.., head_dim] → y, same shape; weight, bias [head_dim], which start at 1 and 0.
/// Throws    ValueError (ε < 0, head_dim below 1), at the call what `rms_norm` and `layer_norm` throw.
class HeadNorm final : public Module {
 public:
  explicit HeadNorm(const HeadNormOptions& options);
  const HeadNormOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;  // undefined for none
  Tensor bias;    // of layer alone

 protected:
  HEED_MEMBERS(weight, bias)

 private:
  HeadNormOptions options_;
};

}  // namespace heed::nn
