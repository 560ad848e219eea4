#pragma once

#include <cstdint>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace heed::test {

// A sanitizer keeps freed memory in quarantine, so resident memory says nothing there; its shadow memory is
// beyond any limit on the address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Resident memory of this process, what malloc holds back being given back first. Linux alone: 0 elsewhere.
inline std::int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace heed::test
