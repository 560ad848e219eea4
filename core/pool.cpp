#include <cstdlib>
#include <mutex>
#include <string_view>

#include <heed/core/pool.h>

namespace heed {
namespace {

constexpr std::size_t unit = 64;
constexpr std::size_t classes = pool_max_bytes / unit;
constexpr std::size_t slab_bytes = 64 * 1024;
constexpr std::align_val_t alignment{unit};

struct FreeBlock {
  FreeBlock* next;
};

// Lists of threads that have ended; `take_slab` hands them to the next thread that runs dry.
struct Depot {
  std::mutex mutex;
  FreeBlock* lists[classes] = {};
};

Depot& depot() {
  static auto* instance = new Depot;  // never destroyed: static tensors may be freed after it would be
  return *instance;
}

// Trivially destructible, so that it can still be used while the thread is being torn down.
thread_local FreeBlock* free_lists[classes];
thread_local bool thread_ending = false;

struct ReturnOnExit {
  ~ReturnOnExit() {
    thread_ending = true;
    const std::lock_guard lock(depot().mutex);
    for (std::size_t c = 0; c < classes; ++c) {
      while (free_lists[c] != nullptr) {
        FreeBlock* block = free_lists[c];
        free_lists[c] = block->next;
        block->next = depot().lists[c];
        depot().lists[c] = block;
      }
    }
  }
};

FreeBlock* take_slab(std::size_t c) {
  static thread_local ReturnOnExit guard;
  (void)guard;
  {
    const std::lock_guard lock(depot().mutex);
    if (FreeBlock* list = depot().lists[c]) {
      depot().lists[c] = nullptr;
      return list;
    }
  }
  const std::size_t bytes = (c + 1) * unit;
  auto* slab = static_cast<std::byte*>(::operator new(slab_bytes, alignment));
  FreeBlock* list = nullptr;
  for (std::size_t at = slab_bytes / bytes; at-- > 0;) list = new (slab + at * bytes) FreeBlock{list};
  return list;
}

}  // namespace

bool caching_enabled() {
  static const bool enabled = [] {
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    const char* value = std::getenv("HEED_NO_CACHE");
    return value == nullptr || std::string_view(value) == "0" || std::string_view(value).empty();
#endif
  }();
  return enabled;
}

void* pool_allocate(std::size_t bytes) {
  if (bytes > pool_max_bytes || !caching_enabled()) return ::operator new(bytes, alignment);
  const std::size_t c = bytes == 0 ? 0 : (bytes - 1) / unit;
  FreeBlock* block = free_lists[c];
  if (block == nullptr) [[unlikely]]
    block = take_slab(c);
  free_lists[c] = block->next;
  return block;
}

void pool_free(void* memory, std::size_t bytes) noexcept {
  if (bytes > pool_max_bytes || !caching_enabled()) {
    ::operator delete(memory, alignment);
    return;
  }
  const std::size_t c = bytes == 0 ? 0 : (bytes - 1) / unit;
  if (thread_ending) [[unlikely]] {
    const std::lock_guard lock(depot().mutex);
    depot().lists[c] = new (memory) FreeBlock{depot().lists[c]};
    return;
  }
  free_lists[c] = new (memory) FreeBlock{free_lists[c]};
}

}  // namespace heed
