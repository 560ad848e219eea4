#pragma once

#include <cstdint>

namespace heed::kernels {

/// Queries, and keys, of a tile. Tiles start at multiples of it, so bits depend on the shape alone.
inline constexpr std::int64_t attention_block = 64;

/// Row i of a matrix starts at data + i · stride; its elements are neighbours. Null data: absent.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* operator[](std::int64_t i) const { return data + i * stride; }
};

/// Attention of one head of one sample. Where an element of q, k or v is not finite, results that it should not reach may
/// not be finite either; finite results are right.
template <class T>
struct AttentionHead {
  Rows<const T> q, k, v;  // [queries, size], [keys, size], [keys, value_size]
  std::int64_t queries = 0, keys = 0, size = 0, value_size = 0;
  T scale = 1;
  T softcap = 0;                        // 0: none
  const std::int64_t* begin = nullptr;  // query i is open on keys begin[i] <= j < end[i] …
  const std::int64_t* end = nullptr;
  Rows<const bool> open;  // … where this is true, if given,
  Rows<const T> bias;     // and this, if given, is not −inf; otherwise it is added to the logit
  T slope = 0;            // ALiBi: −slope · |first_position + i − j| is added
  std::int64_t first_position = 0;
  Rows<const bool> keep;  // dropout: weights that are not kept count in the denominator only
  T keep_scale = 1;       // 1 / (1 − p)
  bool has_sink = false;
  T sink = 0;  // one more logit in the denominator
};

/// What a forward pass leaves for each query, and what a backward pass reads.
template <class T>
struct AttentionRows {
  T* max = nullptr;     // largest of the open logits and the sink; −inf on dead rows
  T* sum = nullptr;     // Σ exp(logit − max), sink included; 0 on dead rows
  T* moment = nullptr;  // Σ exp(logit − max) · (logit − max), sink included; optional
  T* top = nullptr;     // largest open logit without the sink; optional
};

/// Elements of scratch memory that the functions below need.
std::int64_t attention_scratch(std::int64_t size, std::int64_t value_size);
/// Elements in a row of the accumulators of `attention_backward`: a size rounded up to whole vectors.
template <class T>
std::int64_t attention_padded(std::int64_t size);

/// One block of queries [first, first + 64): softmax over the open keys, block by block with a running maximum, and its
/// product with v. Returns a bit for each query with a logit or result that is not finite: it means nothing then.
template <class T>
std::uint64_t attention_forward(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,
                                const AttentionRows<T>& rows, T* scratch);

/// One query alone, as in decoding: keys lie along the lanes. Scratch: 2 · keys. False if a result is not finite.
template <class T>
bool attention_query(const AttentionHead<T>& head, std::int64_t query, T* output,
                     const AttentionRows<T>& rows, T* scratch);

/// P of one block of queries from max and sum, zeros on closed pairs.
template <class T>
void attention_weights(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows,
                       Rows<T> weights, T* scratch);

template <class T>
struct AttentionGradients {
  Rows<T> dq;      // [queries, size], written
  Rows<T> dk, dv;  // padded rows, added to; null if not asked for
  Rows<T>
      logits;  // cotangent of the logits after softcap [queries, keys]: open tiles are written; null if not asked
};

/// One block of queries: recomputes P and adds to the gradients of all keys.
///   dV += Wᵀ dO,  dP = (dO Vᵀ) ⊙ keep,  dS = P ⊙ (dP − delta),  dQ = scale · dS K,  dK += scale · dSᵀ Q
/// `delta` [queries] is Σ dO ⊙ O minus the cotangent of log-sum-exp. Queries whose bit in `skip` is set count as closed.
template <class T>
void attention_backward(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows,
                        Rows<const T> d_output, const T* delta, std::uint64_t skip,
                        const AttentionGradients<T>& gradients, T* scratch);

}  // namespace heed::kernels
