#include <new>
#include <utility>

#include <heed/core/allocator.h>
#include <heed/core/pool.h>
#include <heed/core/storage.h>

namespace heed {
namespace {

constexpr std::size_t header_bytes = 64;  // keeps the data that follows 64-byte aligned

}  // namespace

Ref<Storage> Storage::allocate(std::size_t bytes) {
  static_assert(sizeof(Storage) <= header_bytes);
  if (bytes <= pool_max_bytes - header_bytes) {
    auto* block = static_cast<std::byte*>(pool_allocate(header_bytes + bytes));
    return Ref<Storage>(new (block) Storage(Kind::joined, block + header_bytes, bytes));
  }
  auto* data = static_cast<std::byte*>(allocate_data(bytes));
  return Ref<Storage>(new (pool_allocate(header_bytes)) Storage(Kind::separate, data, bytes));
}

Ref<Storage> Storage::borrow(void* data, std::size_t bytes, std::function<void()> release) {
  auto owner = std::make_unique<Owner>(Owner{{}, std::move(release)});
  Ref<Storage> result(new (pool_allocate(header_bytes))
                          Storage(Kind::borrowed, static_cast<std::byte*>(data), bytes));
  result->owner_ = std::move(owner);
  return result;
}

Ref<Storage> Storage::window(Ref<Storage> whole, std::size_t begin, std::size_t bytes) {
  std::byte* data = whole->data() + begin;
  auto owner = std::make_unique<Owner>(Owner{std::move(whole), {}});
  Ref<Storage> result(new (pool_allocate(header_bytes)) Storage(Kind::window, data, bytes));
  result->owner_ = std::move(owner);
  return result;
}

void Storage::destroy(Storage* storage) noexcept {
  const Kind kind = storage->kind_;
  std::byte* const data = storage->data_;
  const std::size_t bytes = storage->bytes_;
  if (kind == Kind::borrowed && storage->owner_->release) storage->owner_->release();
  storage->~Storage();
  pool_free(storage, kind == Kind::joined ? header_bytes + bytes : header_bytes);
  if (kind == Kind::separate) free_data(data, bytes);
}

}  // namespace heed
