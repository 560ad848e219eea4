#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/core/share.h>

// A program may run regions of OpenMP round heed; heed itself has none.
extern "C" {
[[gnu::weak]] int omp_in_parallel();
}

namespace heed {
namespace {

std::atomic<int> thread_limit{0};

bool in_openmp_region() { return omp_in_parallel != nullptr && omp_in_parallel() != 0; }

// The first number of OMP_NUM_THREADS, else the processors that this process may run on.
int default_threads() {
  if (const char* wish = std::getenv("OMP_NUM_THREADS")) {
    const std::string_view text(wish);
    int count = 0;
    const std::size_t first = text.find_first_not_of(" \t");
    if (first != std::string_view::npos) {
      const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), count);
      if (error == std::errc() && count > 0 &&
          (end == text.data() + text.size() || *end == ',' || *end == ' ')) {
        return count;
      }
    }
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  const int processors = sched_getaffinity(0, sizeof set, &set) == 0
                             ? CPU_COUNT(&set)
                             : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, processors);
}

thread_local bool inside_chunk = false;

// Tells the processor that this thread waits for another one.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Asks `done` again and again for a while. Most waits within a training step are shorter than a
// sleep and a wake-up take; a longer one must leave the core to others.
// docs/adr/0005-threads-of-its-own.md has the figures.
template <class Done>
bool spin_until(const Done& done) {
  constexpr auto bound = std::chrono::microseconds(300);
  constexpr int questions = 32;  // between two looks at the clock
  const auto end = std::chrono::steady_clock::now() + bound;
  do {
    for (int i = 0; i < questions; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// All signals go to the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t former_{};
};

// A loop under way. It lies in the pool, since a worker may still look at it when its caller has returned.
struct Loop {
  // 0: free. Else `claimed`, while its caller prepares it, or `open` to workers;
  // and the number of those inside.
  static constexpr std::uint32_t claimed = 1U << 31U, open = 1U << 30U;
  std::atomic<std::uint32_t> state{0};
  std::atomic<int> entered{0};
  std::atomic<std::uint32_t> finished{0};  // 1 when all chunks are
  std::atomic<std::int64_t> left{0};       // chunks that have not finished
  std::atomic<int> workers{0};
  detail::ChunkFunction function = nullptr;
  void* context = nullptr;
  std::fenv_t modes{};  // rounding and flush modes of the caller

  // Each thread begins with chunks of its own, which lie together, and goes on with those of others: so a
  // thread that the system has stopped holds up one chunk, not its whole part.
  struct alignas(64) Part {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  static constexpr int most_parts = 64;
  std::array<Part, most_parts> parts;
  int part_count = 1;

  void prepare(int threads, std::int64_t chunks, detail::ChunkFunction of_chunk, void* its_context) {
    function = of_chunk;
    context = its_context;
    std::fegetenv(&modes);
    part_count = std::min(threads, most_parts);
    for (int i = 0; i < part_count; ++i) {
      const Share share{i, part_count};
      Part& part = parts[static_cast<std::size_t>(i)];
      part.next.store(share.first(chunks), std::memory_order_relaxed);
      part.end = share.first(chunks) + share.count(chunks);
    }
    left.store(chunks, std::memory_order_relaxed);
    finished.store(0, std::memory_order_relaxed);
    entered.store(0, std::memory_order_relaxed);
    workers.store(threads - 1, std::memory_order_relaxed);
  }

  void run_chunks(int thread) {
    for (int k = 0; k < part_count; ++k) {
      Part& part = parts[static_cast<std::size_t>((thread + k) % part_count)];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        const std::int64_t chunk = part.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= part.end) break;
        function(context, chunk);
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
          finished.store(1, std::memory_order_release);
          finished.notify_all();
        }
      }
    }
  }

  bool wants_help() const {
    return entered.load(std::memory_order_relaxed) < workers.load(std::memory_order_relaxed);
  }

  void help() {
    const int thread = 1 + entered.fetch_add(1, std::memory_order_relaxed);
    if (thread > workers.load(std::memory_order_relaxed)) return;
    std::fenv_t own;
    std::fegetenv(&own);
    std::fesetenv(&modes);
    run_chunks(thread);
    std::fesetenv(&own);
  }

  // The caller's end: a worker that is still inside finds no chunk, and the last one to leave frees the loop.
  void wait() {
    const auto done = [&] { return finished.load(std::memory_order_acquire) != 0; };
    if (!spin_until(done)) {
      while (!done()) finished.wait(0, std::memory_order_acquire);
    }
    state.fetch_and(~open, std::memory_order_acq_rel);
  }
};

class Pool {
 public:
  // Never destroyed: its threads may outlive every object of static storage.
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }

  // A free loop, or none where too many callers are at work.
  Loop* claim() {
    for (Loop& loop : loops_) {
      std::uint32_t free = 0;
      if (loop.state.load(std::memory_order_relaxed) == 0 &&
          loop.state.compare_exchange_strong(free, Loop::claimed, std::memory_order_acquire)) {
        return &loop;
      }
    }
    return nullptr;
  }

  // Where the system refuses a thread, there are no more of them from then on.
  void want_workers(int count) {
    if (workers_.load(std::memory_order_relaxed) >= count || refused_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(creation_);
    const SignalsBlocked blocked;
    while (workers_.load(std::memory_order_relaxed) < count) {
      try {
        std::thread([this] { work(); }).detach();
      } catch (const std::exception&) {  // no thread, or no memory for one
        refused_.store(true, std::memory_order_relaxed);
        return;
      }
      workers_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void open(Loop& loop) {
    loop.state.store(Loop::open, std::memory_order_release);
    loops_begun_.fetch_add(1, std::memory_order_release);
    loops_begun_.notify_all();
  }

 private:
  // Helps the first loop that wants another thread; whether there was one.
  bool help_any() {
    for (Loop& loop : loops_) {
      std::uint32_t state = loop.state.load(std::memory_order_relaxed);
      while ((state & Loop::open) != 0 && loop.wants_help()) {
        if (!loop.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) continue;
        loop.help();
        loop.state.fetch_sub(1, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  void work() {
    inside_chunk = true;
    while (true) {
      const std::uint32_t seen = loops_begun_.load(std::memory_order_acquire);
      if (help_any()) continue;
      if (!spin_until([&] { return loops_begun_.load(std::memory_order_relaxed) != seen; })) {
        loops_begun_.wait(seen, std::memory_order_acquire);
      }
    }
  }

  static constexpr int most_loops = 32;
  std::array<Loop, most_loops> loops_;
  std::atomic<std::uint32_t> loops_begun_{0};  // what sleeping workers wait for
  std::atomic<int> workers_{0};
  std::atomic<bool> refused_{false};
  std::mutex creation_;
};

// Calls function(context, chunk), which does not throw, for each chunk, on this thread
// and on up to `threads - 1` others.
void run_on_threads(int threads, std::int64_t chunks, detail::ChunkFunction function, void* context) {
  const auto run_alone = [&] {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) function(context, chunk);
  };
  // Asked before the pool is: a forked child must not wait for another thread of its parent to make it.
  if (threads <= 1 || chunks <= 1 || inside_chunk) return run_alone();
  Pool& pool = Pool::instance();
  Loop* loop = pool.claim();
  inside_chunk = true;
  if (loop == nullptr) {
    run_alone();
  } else {
    pool.want_workers(threads - 1);
    loop->prepare(threads, chunks, function, context);
    pool.open(*loop);
    loop->run_chunks(0);
    loop->wait();
  }
  inside_chunk = false;
}

// Threads do not survive a fork; a child computes serially.
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
  if (set > 0) return set;
  static std::atomic<int> known{0};  // no static that another thread may be making when a child is forked
  int by_default = known.load(std::memory_order_relaxed);
  if (by_default == 0) {
    by_default = default_threads();
    known.store(by_default, std::memory_order_relaxed);
  }
  return by_default;
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
  const auto threads = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks));
  const bool alone = forked_child.load(std::memory_order_relaxed) || fork_handler != 0 || in_openmp_region();
  run_on_threads(
      alone ? 1 : threads, chunks,
      [](void* of_guarded, std::int64_t chunk) { (*static_cast<decltype(guarded)*>(of_guarded))(chunk); },
      const_cast<void*>(static_cast<const void*>(&guarded)));
  error.rethrow();
}

}  // namespace detail
}  // namespace heed
