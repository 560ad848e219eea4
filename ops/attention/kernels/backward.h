#pragma once

#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Cotangents of the results, for each query.
template <class T>
struct AttentionCotangents {
  Rows<const T> output;    // dO [queries, value_size]
  const T* lse = nullptr;  // of log-sum-exp [queries]; null: none
};

/// Where gradients go. Null: not asked for.
template <class T>
struct AttentionGradients {
  Rows<T> dq;      // [queries, size], written
  Rows<T> dk, dv;  // [keys, padded size], added to
  Rows<T> logits;  // of the logits after softcap [queries, keys]; written in tiles that have an open pair
};

/// Elements in a row of dk and dv: the size rounded up to whole vectors.
template <class T>
std::int64_t attention_padded(std::int64_t size);

/// Elements of scratch memory that `attention_backward` needs.
std::int64_t attention_backward_scratch(std::int64_t size, std::int64_t value_size);

/// What the queries [first, first + 64) of a head contribute to all gradients. Weights are computed again.
///   dV += Wᵀ dO,  dP = (dO Vᵀ) ⊙ keep,  dS = P ⊙ (dP − delta),  dQ = scale · dS K,  dK += scale · dSᵀ Q
/// The key of a query with P > ½ gets dS = dlse − dsink − Σ dS of its other keys.
/// with delta = Σ dO ⊙ O − dlse. Skipped queries, a bit of `skip`
/// each, contribute nothing. Returns whether dQ is finite.
template <class T>
bool attention_backward(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows,
                        Rows<const T> output, const AttentionCotangents<T>& cotangents, std::uint64_t skip,
                        const AttentionGradients<T>& gradients, const AttentionNext<T>& next, T* scratch);

/// Row j of `to` ← Σ over segments of sums[segment · stride + j · width ..], in their order. False if some
/// element is not finite.
template <class T>
bool attention_add_segments(Rows<T> to, std::int64_t keys, std::int64_t size, const T* sums,
                            std::int64_t width, std::int64_t segments, std::int64_t stride);

}  // namespace heed::kernels
