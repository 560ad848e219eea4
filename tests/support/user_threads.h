#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace heed::test {

inline constexpr int user_threads = 8;

/// In how many of eight threads `body(number)` is false or throws. Catch's assertions are not for other
/// threads: bodies return whether all went well.
template <class Body>
int failures(Body&& body) {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < user_threads; ++i) {
    threads.emplace_back([&, i] {
      try {
        if (!body(i)) ++failed;
      } catch (const std::exception&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed;
}

}  // namespace heed::test
