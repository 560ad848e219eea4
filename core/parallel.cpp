#include <algorithm>
#include <atomic>
#include <cfenv>
#include <exception>
#include <limits>
#include <mutex>

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <heed/core/error.h>
#include <heed/core/parallel.h>

namespace heed {
namespace {

std::atomic<int> thread_limit{0};

// OpenMP's threads do not survive a fork; a child computes serially.
std::atomic<bool> forked_child{false};
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { forked_child.store(true); });

// The exception of the lowest chunk that threw.
class FirstError {
 public:
  void keep(std::int64_t chunk) noexcept {
    const std::lock_guard lock(mutex_);
    if (chunk < chunk_) {
      chunk_ = chunk;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::int64_t chunk_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error_;
};

}  // namespace

int num_threads() {
  const int set = thread_limit.load(std::memory_order_relaxed);
  return set > 0 ? set : std::max(1, omp_get_max_threads());
}

void set_num_threads(int count) {
  if (count < 1)
    fail<ValueError>("set_num_threads", "bad thread count", fmt::format("count is {}", count), "count >= 1");
  thread_limit.store(count, std::memory_order_relaxed);
}

namespace detail {

void run_chunks(std::int64_t chunks, ChunkFunction function, void* context) {
  if (chunks <= 0) return;
  FirstError error;
  const auto guarded = [&](std::int64_t chunk) {
    try {
      function(context, chunk);
    } catch (...) {
      error.keep(chunk);
    }
  };
  const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks));
  if (threads == 1 || omp_in_parallel() || forked_child.load(std::memory_order_relaxed) ||
      fork_handler != 0) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) guarded(chunk);
  } else {
    std::fenv_t modes;  // rounding and flush modes of the caller
    std::fegetenv(&modes);
#pragma omp parallel num_threads(threads)
    {
      std::fenv_t own;
      std::fegetenv(&own);
      std::fesetenv(&modes);
#pragma omp for schedule(static)
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) guarded(chunk);
      std::fesetenv(&own);
    }
  }
  error.rethrow();
}

}  // namespace detail
}  // namespace heed
