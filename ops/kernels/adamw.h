#pragma once

#include <cstdint>

namespace heed::kernels {

/// The numbers of one AdamW update that are the same for every element:
///   m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²,  θ ← keep·θ − rate · m / (√v · inverse_correction + ε).
template <class T>
struct AdamWNumbers {
  T beta1, rest1, beta2, rest2, keep, epsilon, rate, inverse_correction;
};

/// Updates `n` elements. The bits of an element depend on its operands alone.
template <class T>
void adamw_update(const AdamWNumbers<T>& numbers, std::int64_t n, T* parameter, T* first, T* second,
                  const T* gradient);
template <>
void adamw_update(const AdamWNumbers<float>& numbers, std::int64_t n, float* parameter, float* first,
                  float* second, const float* gradient);
template <>
void adamw_update(const AdamWNumbers<double>& numbers, std::int64_t n, double* parameter, double* first,
                  double* second, const double* gradient);

}  // namespace heed::kernels
