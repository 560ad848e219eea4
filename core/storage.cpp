#include <new>
#include <utility>

#include <heed/core/allocator.h>
#include <heed/core/pool.h>
#include <heed/core/storage.h>

namespace heed {
namespace {

// Data and, at the end, the header, rounded up to whole cache lines: so the data is 64-byte aligned, and a
// few elements share the header's line.
constexpr std::size_t joined_bytes(std::size_t bytes) { return (bytes + sizeof(Storage) + 63) / 64 * 64; }

}  // namespace

Ref<Storage> Storage::allocate(std::size_t bytes) {
  if (bytes <= pool_max_bytes - sizeof(Storage)) {
    const std::size_t whole = joined_bytes(bytes);
    auto* block = static_cast<std::byte*>(pool_allocate(whole));
    return Ref<Storage>(new (block + whole - sizeof(Storage)) Storage(Kind::joined, block, bytes));
  }
  auto* data = static_cast<std::byte*>(allocate_data(bytes));
  return Ref<Storage>(new (pool_allocate(sizeof(Storage))) Storage(Kind::separate, data, bytes));
}

Ref<Storage> Storage::borrow(void* data, std::size_t bytes, std::function<void()> release) {
  auto owner = std::make_unique<Owner>(Owner{{}, std::move(release)});
  Ref<Storage> result(new (pool_allocate(sizeof(Storage)))
                          Storage(Kind::borrowed, static_cast<std::byte*>(data), bytes));
  result->owner_ = std::move(owner);
  return result;
}

Ref<Storage> Storage::window(Ref<Storage> whole, std::size_t begin, std::size_t bytes) {
  std::byte* data = whole->data() + begin;
  auto owner = std::make_unique<Owner>(Owner{std::move(whole), {}});
  Ref<Storage> result(new (pool_allocate(sizeof(Storage))) Storage(Kind::window, data, bytes));
  result->owner_ = std::move(owner);
  return result;
}

void Storage::destroy(Storage* storage) noexcept {
  const Kind kind = storage->kind_;
  std::byte* const data = storage->data_;
  const std::size_t bytes = storage->bytes_;
  if (kind == Kind::borrowed && storage->owner_->release) storage->owner_->release();
  storage->~Storage();
  if (kind == Kind::joined) return pool_free(data, joined_bytes(bytes));
  pool_free(storage, sizeof(Storage));
  if (kind == Kind::separate) free_data(data, bytes);
}

}  // namespace heed
