#pragma once

#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Elements of scratch memory that the two functions below need.
std::int64_t attention_forward_scratch(std::int64_t size, std::int64_t value_size);

/// The queries [first, first + 64) of a head: output = softmax(logits) v over the open keys, tile by tile.
/// Returns one bit per query: set if a logit or a result of it was not finite. What was written for such a
/// query means nothing, and the caller computes it again.
template <class T>
std::uint64_t attention_forward(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,
                                const AttentionRows<T>& rows, const AttentionNext<T>& next, T* scratch);

/// The weights P of the same queries from their maximum and sum, 0 on closed pairs.
template <class T>
void attention_weights(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows,
                       Rows<T> weights, T* scratch);

}  // namespace heed::kernels
