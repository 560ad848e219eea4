#pragma once

#include <cstdint>

namespace heed::kernels {

/// A matrix as BLAS takes it: row-major with `leading` elements from row to row, or the transpose
/// of such a one.
template <class T>
struct Matrix {
  T* data;
  std::int64_t leading;
  bool transposed = false;
};

/// C = A B + beta C for C [m, n], A [m, k], B [k, n]; C is not transposed. With k = 0 and beta = 0, C is
/// zeros. Serial; bits depend on the shapes alone.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c);

/// Into how many parts of rows and columns a product of this shape is cut so that threads can share it.
/// Depends on the shape alone.
struct GemmParts {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t count() const { return rows * columns; }
};
GemmParts gemm_parts(std::int64_t m, std::int64_t n, std::int64_t k);

/// Part number `index` of `gemm`.
template <class T>
void gemm_part(const GemmParts& parts, std::int64_t index, std::int64_t m, std::int64_t n, std::int64_t k,
               Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);

}  // namespace heed::kernels
