#pragma once

#include <cstdint>

#include <heed/ops/attention/kernels/backward.h>
#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Attention of one query in plain arithmetic, for operands or logits that are not finite: NaN and infinities
/// reach what is open to them as the formula says, and nothing else. Weights are written if given.
template <class T>
void attention_row_forward(const AttentionHead<T>& head, std::int64_t query, Rows<T> output,
                           const AttentionRows<T>& rows, Rows<T> weights);

/// What that query contributes to the gradients: dq and its row of the logits' gradients are written, dk and
/// dv are added to. `d_lse` is the cotangent of log-sum-exp.
template <class T>
void attention_row_backward(const AttentionHead<T>& head, std::int64_t query, const T* d_output, T d_lse,
                            const AttentionGradients<T>& gradients);

/// Whether the pair is open.
template <class T>
bool attention_open(const AttentionHead<T>& head, std::int64_t query, std::int64_t key);

}  // namespace heed::kernels
