#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <heed/nn/dropout.h>
#include <heed/nn/mlp.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/norm.h>

namespace heed::nn {

struct TransformerBlockOptions {
  std::int64_t embed_dim = 0;
  std::int64_t num_heads = 0;
  std::int64_t hidden_dim = 0;  // 0: four times embed_dim
  double dropout = 0;           // of attention weights and of both branches, in training mode
  bool bias = true;
  std::int64_t num_kv_heads = 0;  // as MultiHeadAttention reads it
  std::int64_t head_dim = 0;      // the same
  std::optional<RopeOptions> rope = {};
  Activation activation = Activation::gelu;
  bool gated = false;  // the MLP
  NormKind norm = NormKind::layer;
  double norm_epsilon = 1e-5;
};

/// Pre-norm block:  z = x + attention(norm1(x)),   y = z + mlp(norm2(z)).   x [.., T, E] → y, same shape.
/// Throws    what its parts throw.
class TransformerBlock final : public Module {
 public:
  TransformerBlock(const TransformerBlockOptions& options, Generator& generator);
  const TransformerBlockOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// The same, with the attention weights [.., H, T, T].
  AttentionWeights with_weights(const Tensor& x, const AttentionMask& mask = {},
                                Generator* generator = nullptr) const;
  /// The next tokens of cached sequences, as MultiHeadAttention::decode takes them: x [B, T, E] → y [B, T, E].
  Tensor decode(const Tensor& x, KVCache& cache, std::span<const std::int64_t> counts = {}) const;

  Norm norm1;
  MultiHeadAttention attention;
  Norm norm2;
  MLP mlp;
  Dropout dropout;

 protected:
  HEED_MEMBERS(norm1, attention, norm2, mlp, dropout)

 private:
  Tensor add_mlp(const Tensor& z, Generator* generator) const;

  TransformerBlockOptions options_;
};

}  // namespace heed::nn
