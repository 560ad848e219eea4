#pragma once

#include <cstdint>
#include <vector>

#include <heed/ops/attention/kernels/blocks.h>

namespace heed::kernels {

/// Attention of one query in plain arithmetic, where operands or logits are not finite: NaN and infinities reach what is
/// open to them as the formula says, and nothing else. `head` holds the operands as they were given. Weights are written
/// if given.
template <class T>
void attention_row_forward(const AttentionHead<T>& head, std::int64_t query, Rows<T> output,
                           const AttentionRows<T>& rows, Rows<T> weights);

/// Its part in the gradients: dq is written, the others are added to. `d_lse` is the cotangent of log-sum-exp.
template <class T>
void attention_row_backward(const AttentionHead<T>& head, std::int64_t query, const T* d_output, T d_lse,
                            const AttentionGradients<T>& gradients);

/// Whether the pair is open.
template <class T>
bool attention_open(const AttentionHead<T>& head, std::int64_t query, std::int64_t key);

}  // namespace heed::kernels
