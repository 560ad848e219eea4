#pragma once

#include <cstdint>

namespace heed::kernels {

/// The numbers of one update of Adam or AdamW that are the same for every element:
///   g ← g + decay·θ,  m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²,
///   θ ← keep·θ − rate · m / (√v · inverse_correction + ε).
/// A decay of 0 adds nothing, whatever θ is.
template <class T>
struct AdamNumbers {
  T beta1, rest1, beta2, rest2, decay, keep, epsilon, rate, inverse_correction;
};

/// Where the elements lie. With `greatest`, which may be null, AMSGrad: w ← max(w, v) takes the place of v.
template <class T>
struct AdamElements {
  T* parameter;
  T* first;
  T* second;
  T* greatest;
  const T* gradient;
};

/// Updates elements begin … end−1. The bits of an element depend on its operands alone.
template <class T>
void adam_update(const AdamNumbers<T>& numbers, const AdamElements<T>& elements, std::int64_t begin,
                 std::int64_t end);
template <>
void adam_update(const AdamNumbers<float>& numbers, const AdamElements<float>& elements, std::int64_t begin,
                 std::int64_t end);
template <>
void adam_update(const AdamNumbers<double>& numbers, const AdamElements<double>& elements, std::int64_t begin,
                 std::int64_t end);

}  // namespace heed::kernels
