#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/ops/kernels/gemm_blas.h>
#include <heed/ops/kernels/targets.h>

extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
int openblas_get_parallel(void);
char* openblas_get_corename(void);
void* blas_memory_alloc(int);
void blas_memory_free(void* buffer);
// There where OpenBLAS itself runs on OpenMP.
[[gnu::weak]] int omp_get_max_threads();
[[gnu::weak]] void omp_set_num_threads(int threads);
}

namespace heed::kernels {
namespace {

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

// OpenBLAS's own number of threads, which belongs to the whole process: 1 while any product of heed
// runs, what it was before afterwards.
class OneBlasThread {
 public:
  void enter() {
    const std::lock_guard lock(mutex_);
    if (inside_++ > 0) return;
    former_ = openblas_get_num_threads();
    if (former_ != 1) openblas_set_num_threads(1);
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0 && former_ != 1) openblas_set_num_threads(former_);
  }

 private:
  std::mutex mutex_;
  int inside_ = 0;
  int former_ = 1;
};
OneBlasThread one_blas_thread;

// Products run on the calling thread alone: heed cuts them into parts itself, so that bits do not depend on
// the number of threads. OpenBLAS built on OpenMP (parallel kind 2) follows OpenMP's own limit as well.
class SerialBlas {
 public:
  SerialBlas() {
    static const bool on_openmp =
        openblas_get_parallel() == 2 && omp_get_max_threads != nullptr && omp_set_num_threads != nullptr;
    if (const int threads = std::min(num_threads(), most_buffers);
        threads > buffers_claimed.load(std::memory_order_relaxed)) [[unlikely]]
      claim_buffers(threads);
    one_blas_thread.enter();
    if (on_openmp) {
      former_ = omp_get_max_threads();
      omp_set_num_threads(1);
    }
  }
  ~SerialBlas() {
    if (former_ > 0) omp_set_num_threads(former_);
    one_blas_thread.leave();
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

// A factor as BLAS takes it: the distance of its rows or, transposed, of its columns. Where an axis has one
// element its step means nothing, and BLAS gets the smallest distance that it accepts.
struct BlasFactor {
  CBLAS_TRANSPOSE order;
  int leading;
};

template <class T>
BlasFactor blas_factor(const Matrix<const T>& x, std::int64_t rows, std::int64_t columns) {
  if (x.column_step == 1) return {CblasNoTrans, to_blas_int(rows == 1 ? columns : x.row_step)};
  return {CblasTrans, to_blas_int(columns == 1 ? rows : x.column_step)};
}

template <class T, class Function>
void multiply(Function blas, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const T>& a,
              const Matrix<const T>& b, T beta, T* c, std::int64_t ldc) {
  const BlasFactor fa = blas_factor(a, m, k), fb = blas_factor(b, k, n);
  const int rows = to_blas_int(m), columns = to_blas_int(n), steps = to_blas_int(k), ld = to_blas_int(ldc);
  const SerialBlas serial;
  blas(CblasRowMajor, fa.order, fb.order, rows, columns, steps, T(1), a.data, fa.leading, b.data, fb.leading,
       beta, c, ld);
}

}  // namespace

void gemm_blas(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
               float beta, float* c, std::int64_t ldc) {
  multiply(cblas_sgemm, m, n, k, a, b, beta, c, ldc);
}

void gemm_blas(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
               double beta, double* c, std::int64_t ldc) {
  multiply(cblas_dgemm, m, n, k, a, b, beta, c, ldc);
}

void warn_of_old_blas_core() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string core = openblas_get_corename();
    const std::vector<std::string> targets = simd_targets();
    const auto runs = [&](const char* name) {
      return std::find(targets.begin(), targets.end(), name) != targets.end();
    };
    const std::vector<std::string> avx512{"SkylakeX", "Cooperlake", "Sapphirerapids"};
    const std::vector<std::string> avx2{"Haswell", "Zen", "Excavator"};
    const auto is_one_of = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), core) != names.end();
    };
    // AMD's core Zen stands for CPUs with AVX-512 too.
    if (is_one_of(avx512) || core == "Zen" || (!runs("AVX3") && is_one_of(avx2)) || !runs("AVX2")) return;
    fmt::print(
        stderr,
        "heed: OpenBLAS takes this CPU for an older one ({}); OPENBLAS_CORETYPE={} in the environment tells "
        "it\n",
        core, runs("AVX3") ? "SkylakeX" : "Haswell");
  });
}

}  // namespace heed::kernels
