#if defined(__linux__)
#include <sys/mman.h>
#endif

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

// Blocks of at least one huge page begin at the border of one, so that the kernel can back them with huge
// pages where it has any. With pages of 4 KiB a row of each of many heads is a miss of the TLB for every row.
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= huge_page ? huge_page : 64};
}

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

std::size_t bytes_of_class(std::size_t index) {
  const std::size_t log = index / 8;
  return (std::size_t{1} << log) + (index % 8) * (std::size_t{1} << (log - 3));
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
  const std::align_val_t alignment = alignment_of(bytes);
  void* block = ::operator new(bytes, alignment, std::nothrow);
  if (block == nullptr) {
    release_cached();
    block = ::operator new(bytes, alignment);
  }
#if defined(MADV_HUGEPAGE)
  // Only whole huge pages, so that no more memory is used than was asked for. A refusal changes nothing.
  if (bytes >= huge_page) static_cast<void>(madvise(block, bytes / huge_page * huge_page, MADV_HUGEPAGE));
#endif
  return block;
}

void free_block(void* block, std::size_t bytes) { ::operator delete(block, alignment_of(bytes)); }

}  // namespace

MemoryStats memory_stats() {
  return {live.load(std::memory_order_relaxed), cached.load(std::memory_order_relaxed),
          peak.load(std::memory_order_relaxed)};
}

void reset_peak_bytes() { peak.store(live.load(std::memory_order_relaxed), std::memory_order_relaxed); }

void release_cached() {
  const std::lock_guard lock(cache().mutex);
  for (std::size_t index = 0; index < cache().bins.size(); ++index) {
    auto& bin = cache().bins[index];
    for (void* block : bin) free_block(block, bytes_of_class(index));
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
  if (!caching_enabled()) return free_block(block, bytes);
  const SizeClass c = size_class(bytes);
  try {
    const std::lock_guard lock(cache().mutex);
    cache().bins[c.index].push_back(block);
    cached.fetch_add(static_cast<std::int64_t>(c.bytes), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // no room to remember the block: give it back
    free_block(block, c.bytes);
  }
}

}  // namespace heed
