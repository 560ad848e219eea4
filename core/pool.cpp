#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include <heed/core/pool.h>
#include <heed/core/sanitizer.h>

namespace heed {
namespace {

constexpr std::size_t unit = 32;
constexpr std::size_t classes = pool_max_bytes / unit;
constexpr std::size_t slab_bytes = 64 * 1024;
constexpr std::align_val_t alignment{64};

// A list of free blocks; `count` of each block is how many there are from it to the end of the list.
struct FreeBlock {
  FreeBlock* next = nullptr;
  FreeBlock* next_list = nullptr;  // in the depot, where the first block of a list stands for it
  std::size_t count = 1;
};

FreeBlock* put_before(FreeBlock* list, void* memory) {
  return new (memory) FreeBlock{list, nullptr, list == nullptr ? 1 : list->count + 1};
}

constexpr std::size_t blocks_of_slab(std::size_t c) { return slab_bytes / ((c + 1) * unit); }

// Lists that threads had no use for, among them those of threads that have ended. So blocks that one thread
// takes and another frees find their way back.
class Depot {
 public:
  void give(std::size_t c, FreeBlock* list) noexcept {
    if (list == nullptr) return;
    const std::lock_guard lock(mutex_);
    list->next_list = lists_[c];
    lists_[c] = list;
  }
  FreeBlock* take(std::size_t c) {
    const std::lock_guard lock(mutex_);
    FreeBlock* list = lists_[c];
    if (list != nullptr) lists_[c] = list->next_list;
    return list;
  }

 private:
  std::mutex mutex_;
  FreeBlock* lists_[classes] = {};
};

Depot& depot() {
  static auto* instance = new Depot;  // never destroyed: static tensors may be freed after it would be
  return *instance;
}

// For each class a thread keeps the list that it works on and one full list, so that it goes to the depot at
// most once in as many calls as a slab has blocks.
struct ThreadLists {
  FreeBlock* active;
  FreeBlock* full;
};

// Trivially destructible, so that it can still be used while the thread is being torn down.
thread_local ThreadLists free_lists[classes];
thread_local bool thread_ending = false;

struct ReturnOnExit {
  ~ReturnOnExit() {
    thread_ending = true;
    for (std::size_t c = 0; c < classes; ++c) {
      depot().give(c, std::exchange(free_lists[c].active, nullptr));
      depot().give(c, std::exchange(free_lists[c].full, nullptr));
    }
  }
};

void return_on_exit() {
  static thread_local ReturnOnExit guard;
  (void)guard;
}

FreeBlock* new_slab(std::size_t c) {
  const std::size_t bytes = (c + 1) * unit;
  auto* slab = static_cast<std::byte*>(::operator new(slab_bytes, alignment));
  FreeBlock* list = nullptr;
  for (std::size_t at = blocks_of_slab(c); at-- > 0;) list = put_before(list, slab + at * bytes);
  return list;
}

FreeBlock* refill(std::size_t c) {
  return_on_exit();
  if (FreeBlock* list = std::exchange(free_lists[c].full, nullptr)) return list;
  if (FreeBlock* list = depot().take(c)) return list;
  return new_slab(c);
}

}  // namespace

bool caching_enabled() {
  static const bool enabled = [] {
#if defined(HEED_ADDRESS_SANITIZER) || defined(HEED_THREAD_SANITIZER)
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
  FreeBlock* block = free_lists[c].active;
  if (block == nullptr) [[unlikely]]
    block = refill(c);
  free_lists[c].active = block->next;
  return block;
}

void pool_free(void* memory, std::size_t bytes) noexcept {
  if (bytes > pool_max_bytes || !caching_enabled()) {
    ::operator delete(memory, alignment);
    return;
  }
  const std::size_t c = bytes == 0 ? 0 : (bytes - 1) / unit;
  if (thread_ending) [[unlikely]] {
    depot().give(c, put_before(nullptr, memory));
    return;
  }
  ThreadLists& lists = free_lists[c];
  if (lists.active == nullptr) [[unlikely]] {
    return_on_exit();  // this thread may never have taken a block
  } else if (lists.active->count >= blocks_of_slab(c)) [[unlikely]] {
    depot().give(c, std::exchange(lists.full, std::exchange(lists.active, nullptr)));
  }
  lists.active = put_before(lists.active, memory);
}

}  // namespace heed
