#pragma once

#include <heed/core/tensor.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/heads.h>

namespace heed::detail {

/// [.., T, H, D] in memory seen as [.., H, T, D], so that merging the heads again is a view.
Tensor empty_heads(const Shape& rows, std::int64_t size, DType dtype);

/// Of the blocked form: what is asked for and what is given.
struct AttentionCotangents {
  Tensor output, lse;  ///< lse may be undefined
  bool q = false, k = false, v = false, logits = false, sink = false;
};
struct AttentionGradientTensors {
  Tensor q, k, v;
  Tensor logits;  ///< [.., Hq, Tq, Tk], after softcap: zero on closed pairs
  Tensor sink;    ///< [Hq]
};
/// What a forward pass saves, but for the operands: [.., Hq, Tq, Dv] and, for each query, the largest logit and Σ exp.
struct AttentionRowTensors {
  Tensor output, max, sum;
};
/// P is recomputed.
AttentionGradientTensors attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                             const AttentionOptions& options, const AttentionMask::Plan& plan,
                                             const AttentionRowTensors& rows,
                                             const AttentionCotangents& cotangents);

}  // namespace heed::detail
