#pragma once

#include <cstdint>
#include <span>

#include <heed/nn/dropout.h>
#include <heed/nn/mlp.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/norm.h>

namespace heed::nn {

struct TransformerBlockOptions {
  MultiHeadAttentionOptions attention = {};
  MLPOptions mlp = {};    // a dim of 0: attention.embed_dim
  NormOptions norm = {};  // of both norms; without a shape: {attention.embed_dim}
  double dropout = 0;     // of both branches, in training mode
};

/// The options with defaults for what was left out, in the parts' options too.
/// Throws    ValueError (mlp.dim or norm.normalized_shape that differs from attention.embed_dim, what
///           the parts throw).
TransformerBlockOptions resolved(TransformerBlockOptions options);

/// Pre-norm block:  z = x + attention(norm1(x)),   y = z + mlp(norm2(z)).   x [.., T, E] → y, same shape.
/// Throws    what its parts throw.
class TransformerBlock final : public Module {
  TransformerBlockOptions options_;  // first: the members below are made from it

 public:
  TransformerBlock(const TransformerBlockOptions& options, Generator& generator);
  /// As given, with defaults for what was left out.
  const TransformerBlockOptions& options() const { return options_; }

  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// The same, with the attention weights [.., H, T, T].
  AttentionWeights with_weights(const Tensor& x, const AttentionMask& mask = {},
                                Generator* generator = nullptr) const;
  /// The next tokens of cached sequences, as MultiHeadAttention::decode takes them: x [B, T, E] → y
  /// [B, T, E].
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
};

}  // namespace heed::nn
