#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

/// Bytes of tensor data: in use, kept for reuse, and the most ever in use since the last `reset_peak_bytes`.
struct MemoryStats {
  std::int64_t live = 0;
  std::int64_t cached = 0;
  std::int64_t peak = 0;
};

MemoryStats memory_stats();
void reset_peak_bytes();

/// Gives every cached block back to the system.
void release_cached();

/// A 64-byte aligned block for tensor data, from the cache where one of its size class is free. A failed
/// allocation empties the cache and tries once more before it throws std::bad_alloc.
void* allocate_data(std::size_t bytes);
void free_data(void* block, std::size_t bytes) noexcept;

}  // namespace heed
