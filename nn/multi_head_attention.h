#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <heed/core/random.h>
#include <heed/nn/kv_cache.h>
#include <heed/nn/linear.h>
#include <heed/nn/norm.h>
#include <heed/nn/qkv_projection.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/rope.h>

namespace heed::nn {

/// What parameters are called in a state dict: `qkv.weight`, `out.weight`, …, or as
/// torch.nn.MultiheadAttention calls them, `in_proj_weight`, `out_proj.weight`, … The tensors are the same.
enum class ParameterNames { heed, torch };

struct MultiHeadAttentionOptions {
  std::int64_t embed_dim = 0;  // width of the query input and of the result
  std::int64_t num_heads = 0;
  double dropout = 0;                 // of the attention weights, in training mode
  bool bias = true;                   // of the projections
  std::optional<bool> out_bias = {};  // of the output projection, if it differs from `bias`
  std::int64_t num_kv_heads = 0;      // heads of keys and values, a divisor of num_heads; 0: num_heads
  std::int64_t head_dim = 0;          // 0: embed_dim / num_heads
  std::int64_t kdim = 0;              // width of the key input; 0: embed_dim
  std::int64_t vdim = 0;              // width of the value input; 0: embed_dim
  std::optional<RopeOptions> rope = {};
  std::optional<NormKind> qk_norm = {};  // of queries and keys, each head over its own channels, before RoPE
  std::optional<double> qk_norm_epsilon = {};  // as NormOptions reads it
  std::int64_t window_left = -1;     // keys before a query's position that it may attend; −1: no bound
  std::int64_t window_right = -1;    // and after it
  std::optional<double> scale = {};  // of q·k; 1/√head_dim if not given
  double softcap = 0;
  bool sink = false;           // a trained logit for each head, without a value
  bool add_bias_kv = false;    // one more key and value, trained
  bool add_zero_attn = false;  // one more key and value, zeros
  ParameterNames names = ParameterNames::heed;
};

/// The options with every size that was left 0 filled in, RoPE's included.
/// Throws    ValueError (what MultiHeadAttention says of its options).
MultiHeadAttentionOptions resolved(MultiHeadAttentionOptions options);

/// Attention by several heads at once (Vaswani et al., 2017):
///   q, k, v = projections of query, key and value, cut in heads, q and k normed and rotated if asked,
///   y = out(concat over heads of attention(q_h, k_{h / (Hq/Hkv)}, v_{h / (Hq/Hkv)})).
/// Shapes    query [.., Tq, E], key [.., Tk, kdim], value [.., Tk, vdim] → y [.., Tq, E]; weights [.., Hq,
///           Tq, Tk + X] with X extra keys of add_bias_kv and add_zero_attn at the end.
/// Mask      as `attention` reads it: it broadcasts to [.., Hq, Tq, Tk], so one that differs by sample is
///           [B, 1, Tq, Tk] or [B, 1, 1, Tk]. The window is joined to it. Extra keys have no position and
///           stay open. Where queries stand follows from the arguments alone: module(x, mask) starts them
///           at 0, module(query, key, value, mask) does as `attention`, and a query_start of the mask
///           takes precedence in both.
/// RoPE      keys lie at 0 … Tk − 1, queries at Tk − Tq … Tk − 1.
/// Edge      a query without an open key gives the output bias and no gradient to q, k, v. Rows of key and
///           value that are closed to every query add nothing to results or parameters' gradients, even
///           where they are NaN. Rows of query must be finite, padding included: each reaches its own result.
/// Throws    ValueError (sizes below 1, embed_dim no multiple of num_heads where head_dim is not given,
///           num_heads no multiple of num_kv_heads, rotary odd or above head_dim, dropout outside [0, 1],
///           dropout in training mode without a generator), ShapeError, DTypeError.
class MultiHeadAttention final : public Module {
  MultiHeadAttentionOptions options_;  // first: the members below are made from it

 public:
  MultiHeadAttention(const MultiHeadAttentionOptions& options, Generator& generator);
  /// As given, with the sizes that were left 0 filled in.
  const MultiHeadAttentionOptions& options() const { return options_; }

  /// Self-attention. Queries stand at the positions of the keys, from 0 on, unless the mask says otherwise.
  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// Cross-attention. Queries stand where `attention` puts them, at the last keys unless the mask says
  /// otherwise, even if all three are one tensor.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionMask& mask = {}, Generator* generator = nullptr) const;
  /// The same, with the weights of each head before dropout.
  AttentionWeights with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttentionMask& mask = {}, Generator* generator = nullptr) const;

  /// An empty cache that fits this module.
  KVCache make_cache(std::int64_t batch, std::int64_t capacity) const;
  /// Causal self-attention of the next tokens of each sample over all tokens so far: what operator() with
  /// AttentionMask::causal() gives for them, to rounding. x [B, T, E] → y [B, T, E]. With counts only the
  /// first counts[b] tokens of sample b are taken, and later rows of y mean nothing. The mask, such as ALiBi,
  /// is joined to causality, with the positions of the cache.
  /// Throws    what KVCache::append throws (the cache is full, or gradients are on), ValueError (training
  ///           mode; kdim or vdim that differ from embed_dim; a mask with another query_start than the
  ///           cache's). The cache is unchanged then.
  Tensor decode(const Tensor& x, KVCache& cache, std::span<const std::int64_t> counts = {},
                const AttentionMask& mask = {}) const;

  QkvProjection qkv;
  Tensor bias_k, bias_v;               // [1, 1, Hkv·D], of add_bias_kv
  std::optional<Norm> q_norm, k_norm;  // of qk_norm; weight and bias [D], shared by all heads
  Tensor sink;                         // [Hq]
  Linear out;

 protected:
  void visit(MemberVisitor& visitor) override;

 private:
  struct Heads {
    Tensor query, key, value;  // [.., H, T, D]
  };
  struct Memory {
    Tensor key, value;  // [.., Tk, kdim], [.., Tk, vdim]
  };
  void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) const;
  Memory without_closed_rows(const Tensor& query, const Memory& memory, const AttentionMask& mask) const;
  /// Cut in heads and normed.
  Heads project(const Tensor& query, const Tensor& key, const Tensor& value) const;
  AttentionWeights run(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionMask& mask,
                       Generator* generator, bool need_weights) const;
  /// From heads to the result.
  AttentionWeights attend(Heads heads, AttentionMask mask, Generator* generator, bool need_weights) const;
  AttentionMask windowed(const AttentionMask& mask) const;
  void visit_heads(MemberVisitor& visitor) const;
  Tensor rotated(const Tensor& heads, const Tensor& positions) const;
  void append_extra_keys(Heads& heads, AttentionMask& mask) const;
};

}  // namespace heed::nn
