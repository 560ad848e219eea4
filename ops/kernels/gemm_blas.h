#pragma once

#include <cstdint>

#include <heed/ops/kernels/gemm.h>

namespace heed::kernels {

/// `gemm` by BLAS, for k > 0 and factors of which one step is 1. OpenBLAS runs on the calling thread
/// alone; the number of threads that it was set to is put back afterwards.
void gemm_blas(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
               float beta, float* c, std::int64_t ldc);
void gemm_blas(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
               double beta, double* c, std::int64_t ldc);

/// Says on standard error, once, that BLAS takes this CPU for an older one and how to tell it.
void warn_of_old_blas_core();

}  // namespace heed::kernels
