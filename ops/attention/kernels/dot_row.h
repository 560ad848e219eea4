#pragma once

#include <cstdint>

namespace heed::kernels {

/// Σ_i a_i b_i.
template <class T>
T dot_row(const T* a, const T* b, std::int64_t n);

}  // namespace heed::kernels
