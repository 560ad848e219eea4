#pragma once

#include <cstdint>

namespace heed::kernels {

/// One row of logits becomes weights, in place: s ← softmax(scale · s + add) on begin <= j < end, 0 elsewhere. `add` may
/// be null; entries of −inf close a key. A row without an open key becomes zeros.
template <class T>
void attention_row(T* s, std::int64_t begin, std::int64_t end, std::int64_t n, T scale, const T* add);

/// ds = scale · p ⊙ (dp − delta) for one row; in place over dp. Only begin <= j < end is read; 0 elsewhere.
template <class T>
void attention_vjp_row(const T* p, T* dp, std::int64_t begin, std::int64_t end, std::int64_t n, T scale,
                       T delta);

/// Σ_i a_i b_i.
template <class T>
T dot_row(const T* a, const T* b, std::int64_t n);

}  // namespace heed::kernels
