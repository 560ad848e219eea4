#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>

#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/kernels/gemm_packed.h>

extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_parallel(void);
void* blas_memory_alloc(int);
void blas_memory_free(void* buffer);
}

namespace heed::kernels {
namespace {

void cblas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const float* a, int lda,
                const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc);
}

void cblas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const double* a, int lda,
                const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

// OpenBLAS maps a thread's buffer at its first product, and where the system refuses it asks again for ever.
// So those of all threads are mapped at once, after a look whether there is room: too little is
// std::bad_alloc instead of a hang. Again where the number of threads has grown since.
std::atomic<int> buffers_claimed{0};
constexpr int most_buffers = 64;  // OpenBLAS has room for 128 at least, and its own threads take some

void claim_buffers(int threads) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int claimed = buffers_claimed.load(std::memory_order_relaxed);
  if (threads <= claimed) return;
  constexpr std::size_t buffer_size = std::size_t{160} << 20;  // 128 MiB, and room to align them
  const std::size_t room_size = static_cast<std::size_t>(threads - claimed) * buffer_size;
  void* room =
      ::mmap(nullptr, room_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, room_size);
  std::vector<void*> buffers;
  for (int i = 0; i < threads; ++i) buffers.push_back(blas_memory_alloc(0));
  for (void* buffer : buffers) blas_memory_free(buffer);
  buffers_claimed.store(threads, std::memory_order_relaxed);
}

// Products run on the calling thread alone: heed cuts them into parts itself, so that bits do not depend on
// the number of threads. OpenBLAS built on OpenMP (parallel kind 2) follows OpenMP's own limit as well.
class SerialBlas {
 public:
  SerialBlas() {
    static const bool once = (openblas_set_num_threads(1), true);
    static const bool on_openmp = openblas_get_parallel() == 2;
    (void)once;
    if (const int threads = std::min(num_threads(), most_buffers);
        threads > buffers_claimed.load(std::memory_order_relaxed)) [[unlikely]]
      claim_buffers(threads);
    if (on_openmp) {
      former_ = omp_get_max_threads();
      omp_set_num_threads(1);
    }
  }
  ~SerialBlas() {
    if (former_ > 0) omp_set_num_threads(former_);
  }
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;

 private:
  int former_ = 0;
};

int to_blas_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    fail<ShapeError>("matmul", "a size is beyond BLAS's 32-bit integers", fmt::format("{}", value),
                     "less than 2^31");
  }
  return static_cast<int>(value);
}

std::int64_t border(std::int64_t size, std::int64_t parts, std::int64_t index) {
  // Multiples of 16 keep every part but the last on the micro-kernels' widths.
  const std::int64_t step = ((size + parts - 1) / parts + 15) / 16 * 16;
  return std::min(size, step * index);
}

template <class T>
const T* at(const Matrix<const T>& x, std::int64_t row, std::int64_t column) {
  return x.transposed ? x.data + column * x.leading + row : x.data + row * x.leading + column;
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i) {
      T* row = c.data + i * c.leading;
      std::transform(row, row + n, row, [&](T v) { return beta == T(0) ? T(0) : beta * v; });
    }
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (!a.transposed && (beta == 0 || beta == 1) && gemm_packed_pays()) {
      return gemm_packed(m, n, k, a, b, beta == 1, c);
    }
  }
  const SerialBlas serial;
  const auto transpose = [](bool t) { return t ? CblasTrans : CblasNoTrans; };
  cblas_gemm(transpose(a.transposed), transpose(b.transposed), to_blas_int(m), to_blas_int(n), to_blas_int(k),
             a.data, to_blas_int(a.leading), b.data, to_blas_int(b.leading), beta, c.data,
             to_blas_int(c.leading));
}

GemmParts gemm_parts(std::int64_t m, std::int64_t n, std::int64_t k) {
  // A part reads its rows of A and packs its columns of B, which others do again: so it must be
  // large. 16 M multiply-adds are about 0.3 ms; more than four parts are for products of which each
  // part is still milliseconds.
  constexpr std::int64_t few = 4, most = 16, narrowest = 48;
  const double work =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::int64_t>(k, 1));
  GemmParts best;
  for (std::int64_t count = 2; count <= most; count *= 2) {
    const auto fewer = static_cast<double>(best.count());
    if (work / fewer <= (count <= few ? 0x1p24 : 0x1p29)) break;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t rows = 1; rows <= count; rows *= 2) {
      const std::int64_t columns = count / rows;
      if ((rows > 1 && m / rows < narrowest) || (columns > 1 && n / columns < narrowest)) continue;
      // All parts together, in units of k; packing an element takes about twice as long as reading it.
      const double moved = 2.0 * static_cast<double>(n * rows) + static_cast<double>(m * columns);
      if (moved <= least) {
        least = moved;
        best = {rows, columns};
      }
    }
  }
  return best;
}

template <class T>
void gemm_part(const GemmParts& parts, std::int64_t index, std::int64_t m, std::int64_t n, std::int64_t k,
               Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  const std::int64_t row = border(m, parts.rows, index / parts.columns);
  const std::int64_t row_end = border(m, parts.rows, index / parts.columns + 1);
  const std::int64_t column = border(n, parts.columns, index % parts.columns);
  const std::int64_t column_end = border(n, parts.columns, index % parts.columns + 1);
  a.data = at(a, row, 0);
  b.data = at(b, 0, column);
  c.data += row * c.leading + column;
  gemm(row_end - row, column_end - column, k, a, b, beta, c);
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const float>, Matrix<const float>, float,
                   Matrix<float>);
template void gemm(std::int64_t, std::int64_t, std::int64_t, Matrix<const double>, Matrix<const double>,
                   double, Matrix<double>);
template void gemm_part(const GemmParts&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm_part(const GemmParts&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        Matrix<const double>, Matrix<const double>, double, Matrix<double>);

}  // namespace heed::kernels
