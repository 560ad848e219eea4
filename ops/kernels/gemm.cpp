#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/kernels/gemm_blas.h>
#include <heed/ops/kernels/gemm_packed.h>

namespace heed::kernels {
namespace {

std::atomic<bool>& asked_for_blas() {
  static std::atomic<bool> asked = [] {
    const char* const set = std::getenv("HEED_PRODUCTS");
    const std::string_view wish(set == nullptr ? "" : set);
    const bool blas = wish == "blas";
    if (!blas && wish != "own" && !wish.empty()) {
      fail<ValueError>("HEED_PRODUCTS", "nobody of this name multiplies", fmt::format("it is '{}'", wish),
                       "blas or own");
    }
    if (blas) warn_of_old_blas_core();
    return blas;
  }();
  return asked;
}

std::int64_t border(std::int64_t size, std::int64_t parts, std::int64_t index) {
  // Multiples of 32 keep every part but the last on the micro-kernels' widths.
  const std::int64_t step = ((size + parts - 1) / parts + 31) / 32 * 32;
  return std::min(size, step * index);
}

}  // namespace

bool products_use_blas() { return blas_is_asked_for() || !gemm_packed_pays(); }

void ask_for_blas(bool wanted) {
  if (wanted) warn_of_old_blas_core();
  asked_for_blas().store(wanted, std::memory_order_relaxed);
}

bool blas_is_asked_for() { return asked_for_blas().load(std::memory_order_relaxed); }

GemmParts gemm_parts(std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  // A part reads its rows of A and packs its columns of B, which others do again: so it must be large.
  // 4 M multiply-adds are 40 to 100 µs, and reading an element of B takes as long as 32 of them. Two
  // parts a thread, so that one that the system has stopped holds up less.
  const bool blas = products_use_blas();
  const double least_work = blas ? 0x1p23 : 0x1p22;
  const std::int64_t most = blas          ? 4
                            : threads > 1 ? 2 * static_cast<std::int64_t>(std::bit_ceil(unsigned(threads)))
                                          : 1;
  constexpr std::int64_t narrowest = 48;
  const double work = (static_cast<double>(m) + 32) * static_cast<double>(n) *
                      static_cast<double>(std::max<std::int64_t>(k, 1));
  GemmParts best;
  for (std::int64_t count = 2; count <= most && work / static_cast<double>(count) >= least_work; count *= 2) {
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t rows = 1; rows <= count; rows *= 2) {
      const std::int64_t columns = count / rows;
      if ((rows > 1 && m / rows < narrowest) || (columns > 1 && n / columns < narrowest)) continue;
      // All parts together, in units of k.
      const double moved = static_cast<double>(n * rows) + static_cast<double>(m * columns);
      if (moved <= least) {
        least = moved;
        best = {rows, columns};
      }
    }
  }
  return best;
}

namespace {

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, T beta, T* c,
          std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k > 0 && products_use_blas()) return gemm_blas(m, n, k, a, b, beta, c, ldc);
  if (beta != 1 && (beta != 0 || k == 0)) {
    for (std::int64_t i = 0; i < m; ++i) {
      T* row = c + i * ldc;
      std::transform(row, row + n, row, [&](T v) { return beta == T(0) ? T(0) : beta * v; });
    }
  }
  if (k > 0) gemm_packed(m, n, k, a, b, beta != 0, c, ldc);
}

}  // namespace

template <class T>
void gemm_part(const GemmParts& parts, std::int64_t index, std::int64_t m, std::int64_t n, std::int64_t k,
               Matrix<const T> a, Matrix<const T> b, T beta, T* c, std::int64_t ldc) {
  const std::int64_t row = border(m, parts.rows, index / parts.columns);
  const std::int64_t row_end = border(m, parts.rows, index / parts.columns + 1);
  const std::int64_t column = border(n, parts.columns, index % parts.columns);
  const std::int64_t column_end = border(n, parts.columns, index % parts.columns + 1);
  a.data += row * a.row_step;
  b.data += column * b.column_step;
  gemm(row_end - row, column_end - column, k, a, b, beta, c + row * ldc + column, ldc);
}

template void gemm_part(const GemmParts&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        Matrix<const float>, Matrix<const float>, float, float*, std::int64_t);
template void gemm_part(const GemmParts&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        Matrix<const double>, Matrix<const double>, double, double*, std::int64_t);

}  // namespace heed::kernels
