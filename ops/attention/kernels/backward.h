#pragma once

#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Cotangents of the results, for each query.
template <class T>
struct AttentionCotangents {
  Rows<const T> output;      // dO [queries, value_size]
  const T* lse = nullptr;    // of log-sum-exp [queries]; null: none
  const T* delta = nullptr;  // Σ dO ⊙ O − dlse [queries]
};

/// Where gradients go. Null: not asked for.
template <class T>
struct AttentionGradients {
  Rows<T> dq;      // [queries, size], written
  Rows<T> dk, dv;  // [keys, padded size], added to
  Rows<T> logits;  // of the logits after softcap [queries, keys]; written in tiles that have an open pair
};

/// Elements in a row of dk and dv: the size rounded up to whole panels.
template <class T>
std::int64_t attention_padded(std::int64_t size);

/// Elements of scratch memory that `attention_backward` needs.
std::int64_t attention_backward_scratch(std::int64_t size, std::int64_t value_size);

/// What the queries [first, first + 64) of a head contribute to all gradients. Weights are computed again.
///   dV += Wᵀ dO,  dP = (dO Vᵀ) ⊙ keep,  dS = P ⊙ (dP − delta),  dQ = scale · dS K,  dK += scale · dSᵀ Q
/// The key of a query with P > ½ gets dS = dlse − dsink − Σ dS of its other keys.
/// Queries whose bit in `skip` is set contribute nothing.
template <class T>
void attention_backward(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows,
                        const AttentionCotangents<T>& cotangents, std::uint64_t skip,
                        const AttentionGradients<T>& gradients, T* scratch);

}  // namespace heed::kernels
