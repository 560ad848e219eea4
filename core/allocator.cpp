#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include <heed/core/allocator.h>
#include <heed/core/pool.h>

namespace heed {
namespace {

constexpr std::align_val_t block_alignment{64};

// Size classes: eight per doubling, so a block wastes less than an eighth.
struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

SizeClass size_class(std::size_t bytes) {
  const std::size_t n = bytes < 512 ? 512 : bytes;
  const auto log = static_cast<std::size_t>(std::bit_width(n) - 1);
  const std::size_t step = std::size_t{1} << (log - 3);
  const std::size_t eighth = (n - (std::size_t{1} << log) + step - 1) / step;
  return {log * 8 + eighth, (std::size_t{1} << log) + eighth * step};
}

struct Cache {
  std::mutex mutex;
  std::array<std::vector<void*>, 64 * 8 + 1> bins;
};

Cache& cache() {
  static auto* instance = new Cache;  // never destroyed: static tensors may be freed after it would be
  return *instance;
}

std::atomic<std::int64_t> live{0};
std::atomic<std::int64_t> cached{0};
std::atomic<std::int64_t> peak{0};

void count_live(std::int64_t bytes) {
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

void* take_cached(const SizeClass& c) {
  const std::lock_guard lock(cache().mutex);
  auto& bin = cache().bins[c.index];
  if (bin.empty()) return nullptr;
  void* block = bin.back();
  bin.pop_back();
  cached.fetch_sub(static_cast<std::int64_t>(c.bytes), std::memory_order_relaxed);
  return block;
}

void* allocate_fresh(std::size_t bytes) {
  if (void* block = ::operator new(bytes, block_alignment, std::nothrow)) return block;
  release_cached();
  return ::operator new(bytes, block_alignment);
}

}  // namespace

MemoryStats memory_stats() {
  return {live.load(std::memory_order_relaxed), cached.load(std::memory_order_relaxed),
          peak.load(std::memory_order_relaxed)};
}

void reset_peak_bytes() { peak.store(live.load(std::memory_order_relaxed), std::memory_order_relaxed); }

void release_cached() {
  const std::lock_guard lock(cache().mutex);
  for (auto& bin : cache().bins) {
    for (void* block : bin) ::operator delete(block, block_alignment);
    bin.clear();
    bin.shrink_to_fit();
  }
  cached.store(0, std::memory_order_relaxed);
}

void* allocate_data(std::size_t bytes) {
  // From 2^62 bytes on there is no size class: refused here, as operator new would refuse it.
  if (bytes >= (std::size_t{1} << 62)) throw std::bad_alloc();
  void* block = nullptr;
  if (!caching_enabled()) {
    block = allocate_fresh(bytes);
  } else {
    const SizeClass c = size_class(bytes);
    block = take_cached(c);
    if (block == nullptr) block = allocate_fresh(c.bytes);
  }
  count_live(static_cast<std::int64_t>(bytes));
  return block;
}

void free_data(void* block, std::size_t bytes) noexcept {
  live.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  if (!caching_enabled()) {
    ::operator delete(block, block_alignment);
    return;
  }
  const SizeClass c = size_class(bytes);
  try {
    const std::lock_guard lock(cache().mutex);
    cache().bins[c.index].push_back(block);
    cached.fetch_add(static_cast<std::int64_t>(c.bytes), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // no room to remember the block: give it back
    ::operator delete(block, block_alignment);
  }
}

}  // namespace heed
