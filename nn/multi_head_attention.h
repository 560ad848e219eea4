#pragma once

#include <heed/core/random.h>
#include <heed/nn/linear.h>
#include <heed/ops/attention.h>
#include <heed/ops/attention_mask.h>
#include <heed/ops/scaled_dot_product_attention.h>

namespace heed::nn {

struct MultiHeadAttentionOptions {
  std::int64_t embed_dim = 0;
  std::int64_t num_heads = 0;
  double dropout = 0;  // of the attention weights, in training mode
  bool bias = true;
};

/// Attention by several heads at once (Vaswani et al., 2017):
///   [q; k; v] = x Wᵀ + b, cut in heads,   y = out(concat over heads of attention(q_h, k_h, v_h)).
/// Shapes    query [.., Tq, E], key and value [.., Tk, E] → y [.., Tq, E]; weights [.., H, Tq, Tk].
/// Mask      as `attention` reads it: it broadcasts to [.., H, Tq, Tk], so one that differs by sample is
///           [B, 1, Tq, Tk] or [B, 1, 1, Tk].
/// Edge      a query without an open key gives the output bias and no gradient to q, k, v.
/// Throws    ValueError (sizes below 1, embed_dim no multiple of num_heads, dropout outside [0, 1], dropout
/// in
///           training mode without a generator), ShapeError, DTypeError.
class MultiHeadAttention final : public Module {
 public:
  MultiHeadAttention(const MultiHeadAttentionOptions& options, Generator& generator);
  MultiHeadAttention clone() const;
  const MultiHeadAttentionOptions& options() const { return options_; }

  /// Self-attention.
  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// Cross-attention.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// The same, with the weights of each head before dropout.
  AttentionWeights with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttentionMask& mask = {}, Generator* generator = nullptr) const;

  Linear qkv;  // weight [3E, E]: rows of q, then k, then v
  Linear out;

 protected:
  void visit(MemberVisitor& visitor) override;

 private:
  struct Heads {
    Tensor query, key, value;  // [.., H, T, D]
  };
  Heads project(const Tensor& query, const Tensor& key, const Tensor& value) const;
  AttentionWeights attend(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionMask& mask, Generator* generator, bool need_weights) const;

  MultiHeadAttentionOptions options_;
};

}  // namespace heed::nn
