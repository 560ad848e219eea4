#pragma once

#include <cstddef>
#include <new>

namespace heed {

/// Blocks for small objects (nodes, tensor handles, tiny buffers), 32-byte aligned, and 64-byte aligned where
/// their size is a multiple of 64; kept in per-thread free lists. A block may be freed by another thread than
/// the one that took it. Sanitizer builds, and a set HEED_NO_CACHE, go to the system for each block.
inline constexpr std::size_t pool_max_bytes = 512;

void* pool_allocate(std::size_t bytes);
void pool_free(void* block, std::size_t bytes) noexcept;

/// Whether memory is cached at all. False in sanitizer builds, and where the environment variable
/// HEED_NO_CACHE is set and neither empty nor 0. Read once.
bool caching_enabled();

/// Base class that takes its objects from the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { pool_free(block, bytes); }
};

}  // namespace heed
