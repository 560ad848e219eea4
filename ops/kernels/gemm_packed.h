#pragma once

#include <cstdint>

#include <heed/ops/kernels/gemm.h>

namespace heed::kernels {

/// Whether `gemm_packed` is faster than BLAS on this CPU: its micro-kernel needs fused multiply-adds.
bool gemm_packed_pays();

/// C = A B + (add ? C : 0) as `gemm` for an A that is not transposed, with heed's own micro-kernel: B is
/// packed by panels, A is read where it lies, C is never zeroed first. One or two rows times a transposed B
/// are dot products, without packing.
void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 bool add, Matrix<float> c);

}  // namespace heed::kernels
