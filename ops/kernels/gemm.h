#pragma once

#include <cstdint>

namespace heed::kernels {

/// Element (i, j) of a matrix is data[i · row_step + j · column_step].
template <class T>
struct Matrix {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step = 1;
};

/// Whether products go to BLAS: where a program asked for it, and on targets below AVX2. BLAS takes
/// factors of which one step is 1.
bool products_use_blas();
/// What the program asked for last, else what the environment variable HEED_PRODUCTS says, "blas" or "own".
/// ValueError if it says something else.
void ask_for_blas(bool wanted);
bool blas_is_asked_for();

/// Into how many parts of rows and columns a product of this shape is cut so that threads can share it. Parts
/// change no bits of heed's own products; those of BLAS depend on the shape alone.
struct GemmParts {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t count() const { return rows * columns; }
};
GemmParts gemm_parts(std::int64_t m, std::int64_t n, std::int64_t k, int threads);

/// Part number `index` of C = A B + beta C for C [m, n] with rows `ldc` apart, A [m, k], B [k, n]. With k = 0
/// and beta = 0, C is zeros. Serial. Without BLAS every element is one chain of fused additions over
/// ascending k: its bits depend on its row of A, its column of B and the dtype alone.
template <class T>
void gemm_part(const GemmParts& parts, std::int64_t index, std::int64_t m, std::int64_t n, std::int64_t k,
               Matrix<const T> a, Matrix<const T> b, T beta, T* c, std::int64_t ldc);

}  // namespace heed::kernels
