#pragma once

#include <cstdint>

#include <heed/ops/kernels/gemm.h>

namespace heed::kernels {

/// Whether `gemm_packed` is there for this CPU: its micro-kernel needs fused multiply-adds.
bool gemm_packed_pays();

/// C = A B + (add ? C : 0) as `gemm`, for any steps. Factors are packed into panels, or read where they lie
/// where few rows or columns use them.
void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 bool add, float* c, std::int64_t ldc);
void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                 Matrix<const double> b, bool add, double* c, std::int64_t ldc);

}  // namespace heed::kernels
