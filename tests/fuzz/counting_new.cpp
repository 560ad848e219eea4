#include "counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEED_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#define HEED_COUNTS_ALLOCATIONS (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define HEED_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<std::int64_t> out{0};
std::atomic<std::int64_t> most{0};
std::atomic<std::int64_t> start{0};
std::atomic<std::int64_t> largest{0};

}  // namespace

#if HEED_COUNTS_ALLOCATIONS
namespace {

void raise(std::atomic<std::int64_t>& top, std::int64_t value) {
  std::int64_t seen = top.load();
  while (value > seen && !top.compare_exchange_weak(seen, value)) {
  }
}

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  raise(most, out += static_cast<std::int64_t>(::malloc_usable_size(block)));
  return block;
}

void release(void* block) noexcept {
  out -= static_cast<std::int64_t>(::malloc_usable_size(block));
  std::free(block);
}

}  // namespace

// The other forms call these.
void* operator new(std::size_t bytes) {
  raise(largest, static_cast<std::int64_t>(bytes));
  return counted(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  raise(largest, static_cast<std::int64_t>(bytes));
  const auto step = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
#endif

namespace heed::test::fuzz {

bool counts_allocations() { return HEED_COUNTS_ALLOCATIONS != 0; }

void reset_allocation_peak() {
  start = out.load();
  most = out.load();
  largest = 0;
}

AllocationPeak allocation_peak() { return {.bytes = most - start, .largest = largest}; }

}  // namespace heed::test::fuzz
