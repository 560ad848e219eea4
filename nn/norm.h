#pragma once

#include <heed/nn/module.h>

namespace heed::nn {

struct LayerNormOptions {
  Shape normalized_shape;  // the last axes of the input
  double epsilon = 1e-5;
  bool bias = true;
};

/// y = (x − mean) / √(variance + ε) · weight + bias, statistics over the last axes.   weight starts at 1,
/// bias at 0.
/// Throws    ValueError (no axes, ε < 0), at the call what `layer_norm` throws.
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(const LayerNormOptions& options);
  const LayerNormOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;
  Tensor bias;

 protected:
  HEED_MEMBERS(weight, bias)

 private:
  LayerNormOptions options_;
};

struct RMSNormOptions {
  Shape normalized_shape;  // the last axes of the input
  double epsilon = 1e-6;
};

/// y = x / √(mean x² + ε) · weight, the mean over the last axes.   weight starts at 1.
/// Throws    ValueError (no axes, ε < 0), at the call what `rms_norm` throws.
class RMSNorm final : public Module {
 public:
  explicit RMSNorm(const RMSNormOptions& options);
  const RMSNormOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;

 protected:
  HEED_MEMBERS(weight)

 private:
  RMSNormOptions options_;
};

/// Which norm a model uses.
enum class NormKind { layer, rms };

struct NormOptions {
  Shape normalized_shape;  // the last axes of the input
  NormKind kind = NormKind::layer;
  double epsilon = 1e-5;
  bool bias = true;  // of layer alone
};

/// LayerNorm or RMSNorm, as the options say, with the same parameters.
/// Throws    as they do.
class Norm final : public Module {
 public:
  explicit Norm(const NormOptions& options);
  const NormOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x) const;

  Tensor weight;
  Tensor bias;

 protected:
  HEED_MEMBERS(weight, bias)

 private:
  NormOptions options_;
};

}  // namespace heed::nn
