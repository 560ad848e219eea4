#pragma once

#include <cstdint>

namespace heed::kernels {

/// Whether no element is NaN or infinite.
template <class T>
bool all_finite(const T* x, std::int64_t n);
template <>
bool all_finite(const float* x, std::int64_t n);
template <>
bool all_finite(const double* x, std::int64_t n);

}  // namespace heed::kernels
