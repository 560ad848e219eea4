#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <heed/core/error.h>
#include <heed/core/parallel.h>

using namespace heed;

namespace {

// Restores the number of threads at the end of a test.
struct ThreadCount {
  int former = num_threads();
  ~ThreadCount() { set_num_threads(former); }
};

using Borders = std::vector<std::pair<std::int64_t, std::int64_t>>;

Borders borders(std::int64_t n, std::int64_t grain) {
  Borders found(static_cast<std::size_t>(n <= 0 ? 0 : (n - 1) / grain + 1), {-1, -1});
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    found.at(static_cast<std::size_t>(begin / grain)) = {begin, end};
  });
  return found;
}

double reduce(const std::vector<double>& values) {
  return parallel_reduce(
      static_cast<std::int64_t>(values.size()), 100, 0.0,
      [&](std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += values[static_cast<std::size_t>(i)];
        return sum;
      },
      [](double a, double b) { return a + b; });
}

}  // namespace

TEST_CASE("chunk borders depend on n and grain alone", "[parallel]") {
  const ThreadCount restore;
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    CHECK(num_threads() == threads);
    CHECK(borders(0, 4).empty());
    CHECK(borders(-1, 4).empty());
    CHECK(borders(1, 4) == Borders{{0, 1}});
    CHECK(borders(4, 4) == Borders{{0, 4}});
    CHECK(borders(5, 4) == Borders{{0, 4}, {4, 5}});
    CHECK(borders(12, 4) == Borders{{0, 4}, {4, 8}, {8, 12}});
    CHECK(borders(13, 1).size() == 13);
  }
}

TEST_CASE("ranges up to the largest number do not wrap", "[parallel]") {
  constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t half = max64 / 2 + 1;
  std::atomic<std::int64_t> covered{0};
  std::atomic<int> calls{0};
  parallel_for(max64, half, [&](std::int64_t begin, std::int64_t end) {
    covered += end - begin;
    ++calls;
  });
  CHECK(covered == max64);
  CHECK(calls == 2);
}

TEST_CASE("each chunk runs once", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(4);
  std::vector<std::atomic<int>> runs(1000);
  parallel_chunks(1000, [&](std::int64_t chunk) { ++runs[static_cast<std::size_t>(chunk)]; });
  CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }));
  parallel_chunks(0, [](std::int64_t) { FAIL("there is no chunk"); });
}

TEST_CASE("the exception of the lowest chunk is rethrown after all have finished", "[parallel]") {
  const ThreadCount restore;
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int> finished{0};
      const auto body = [&](std::int64_t chunk) {
        if (chunk % 10 == 7) throw ValueError("chunk " + std::to_string(chunk));
        ++finished;
      };
      REQUIRE_THROWS_WITH(parallel_chunks(100, body), "chunk 7");
      REQUIRE(finished == 90);
    }
  }
  CHECK_THROWS_AS(parallel_for(10, 100, [](std::int64_t, std::int64_t) { throw ValueError("one"); }),
                  ValueError);
}

TEST_CASE("a nested loop runs serially, in the thread of its chunk", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(4);
  std::atomic<int> strangers{0};
  std::atomic<int> inner{0};
  parallel_chunks(8, [&](std::int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_chunks(5, [&](std::int64_t) {
      ++inner;
      strangers += std::this_thread::get_id() != self;
    });
  });
  CHECK(inner == 40);
  CHECK(strangers == 0);
}

TEST_CASE("a chunk that sleeps does not hold the chunks of others", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(2);
  // The first chunk of one share waits until all but its own have run: on whichever thread, they do.
  std::atomic<int> finished{0};
  parallel_chunks(20, [&](std::int64_t chunk) {
    if (chunk == 0) {
      while (finished < 19) std::this_thread::yield();
    }
    ++finished;
  });
  CHECK(finished == 20);
}

TEST_CASE(
    "user threads at once, with different numbers of threads, each get their chunks and their exception",
    "[parallel]") {
  const ThreadCount restore;
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 40; ++user) {  // more than there are slots for loops
    users.emplace_back([&, user] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        set_num_threads(1 + (user + repeat) % 5);  // while others run
        std::vector<int> runs(37);
        parallel_chunks(37, [&](std::int64_t chunk) { ++runs[static_cast<std::size_t>(chunk)]; });
        for (const int n : runs) wrong += n != 1;
        try {
          parallel_chunks(9, [&](std::int64_t chunk) {
            if (chunk % 4 == 3) throw ValueError(std::to_string(user * 100 + chunk));
          });
          ++wrong;
        } catch (const ValueError& error) {
          wrong += error.what() != std::to_string(user * 100 + 3);
        }
      }
    });
  }
  for (auto& user : users) user.join();
  CHECK(wrong == 0);
}

namespace {

struct LoopAtExit {  // in a destructor of a static object
  bool armed = false;
  ~LoopAtExit() {
    if (!armed) return;
    std::atomic<int> sum{0};
    parallel_chunks(8, [&](std::int64_t chunk) { sum += static_cast<int>(chunk); });
    if (sum != 28) _exit(3);
  }
} loop_at_exit;

// The exit status of this program when it runs one hidden test case; -1 if a signal ends it.
int status_of(const std::string& test_case) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const int status = std::system(("timeout 60 '" + program + "' '" + test_case + "' >/dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("ends with a loop in a destructor", "[.ends]") {
  set_num_threads(4);
  parallel_chunks(8, [](std::int64_t) {});
  loop_at_exit.armed = true;
}

TEST_CASE("ends amid loops", "[.ends]") {
  std::thread([] {
    set_num_threads(4);
    while (true) parallel_chunks(8, [](std::int64_t) {});
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::_Exit(7);
}

TEST_CASE("a program ends in the middle of loops, and loops run while it ends", "[parallel]") {
  CHECK(status_of("ends with a loop in a destructor") == 0);
  CHECK(status_of("ends amid loops") == 7);
}

TEST_CASE("threads that wait use no processor time", "[parallel][fault-22]") {
  const ThreadCount restore;
  set_num_threads(4);
  parallel_chunks(8, [](std::int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they ask for 0.3 ms and fall asleep
  const std::clock_t before = std::clock();                    // of all threads of the process
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Three threads that spin would take 600 ms, or 200 on one core.
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.05);
}

TEST_CASE("a forked child computes serially", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(4);
  parallel_chunks(8, [](std::int64_t) {});  // threads exist before the fork
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang is a failure
    const auto self = std::this_thread::get_id();
    std::int64_t sum = 0;
    parallel_chunks(8, [&](std::int64_t chunk) {
      if (std::this_thread::get_id() == self) sum += chunk;
    });
    _exit(sum == 28 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a reduction has the same bits for every thread count", "[parallel]") {
  const ThreadCount restore;
  std::vector<double> values(12345);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * 1e3;
  set_num_threads(1);
  const double one = reduce(values);
  for (const int threads : {2, 3, 8}) {
    set_num_threads(threads);
    CHECK(reduce(values) == one);
  }
  CHECK(reduce({}) == 0);
}

TEST_CASE("partial results are joined in the order of the chunks", "[parallel]") {
  const std::string joined = parallel_reduce(
      26, 3, std::string(),
      [](std::int64_t begin, std::int64_t end) {
        std::string text;
        for (std::int64_t i = begin; i < end; ++i) text += static_cast<char>('a' + i);
        return text;
      },
      [](const std::string& a, const std::string& b) { return a + b; });
  CHECK(joined == "abcdefghijklmnopqrstuvwxyz");
}

TEST_CASE("a reduction to bool loses no partial result", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(8);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const bool all = parallel_reduce(
        64, 1, true, [](std::int64_t, std::int64_t) { return true; }, [](bool a, bool b) { return a && b; });
    REQUIRE(all);
    const bool none = parallel_reduce(
        64, 1, false, [](std::int64_t, std::int64_t) { return false; },
        [](bool a, bool b) { return a || b; });
    REQUIRE_FALSE(none);
  }
}

TEST_CASE("workers take the caller's rounding mode and keep their own afterwards", "[parallel]") {
  const ThreadCount restore;
  set_num_threads(4);
  const int former = std::fegetround();
  const auto modes = [] {
    std::vector<int> seen(16);
    parallel_chunks(16,
                    [&](std::int64_t chunk) { seen[static_cast<std::size_t>(chunk)] = std::fegetround(); });
    return seen;
  };
  std::fesetround(FE_UPWARD);
  const std::vector<int> upward = modes();
  std::fesetround(former);
  CHECK(upward == std::vector<int>(16, FE_UPWARD));
  CHECK(modes() == std::vector<int>(16, former));
}

#if defined(__SSE__)
TEST_CASE("workers take the caller's flush modes and keep their own afterwards", "[parallel]") {
  constexpr unsigned flush = 0x8040;  // results and operands below the normal numbers are 0
  const ThreadCount restore;
  set_num_threads(4);
  const unsigned former = _mm_getcsr();
  const auto modes = [] {
    std::vector<unsigned> seen(16);
    parallel_chunks(
        16, [&](std::int64_t chunk) { seen[static_cast<std::size_t>(chunk)] = _mm_getcsr() & flush; });
    return seen;
  };
  _mm_setcsr(former | flush);
  const std::vector<unsigned> flushing = modes();
  _mm_setcsr(former & ~flush);
  const std::vector<unsigned> keeping = modes();
  _mm_setcsr(former);
  CHECK(flushing == std::vector<unsigned>(16, flush));
  CHECK(keeping == std::vector<unsigned>(16, 0));
}
#endif

TEST_CASE("thread counts below one are refused", "[parallel]") {
  const int former = num_threads();
  CHECK_THROWS_MATCHES(
      set_num_threads(0), ValueError,
      Catch::Matchers::Message("set_num_threads: bad thread count, count is 0; expected count >= 1"));
  CHECK_THROWS_AS(set_num_threads(-3), ValueError);
  CHECK(num_threads() == former);
}
