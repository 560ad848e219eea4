#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <heed/core/ref.h>

namespace heed {

/// The bytes behind a tensor and its views, with their version: every in-place write bumps it, so that the
/// tape can tell when a saved tensor was overwritten. A window shares another storage's bytes under a version
/// of its own.
class Storage final : public RefCounted {
 public:
  /// Uninitialised, 64-byte aligned. Up to a few hundred bytes, header and data are one block.
  static Ref<Storage> allocate(std::size_t bytes);
  /// Bytes owned by somebody else; `release` is called when the last view is gone.
  static Ref<Storage> borrow(void* data, std::size_t bytes, std::function<void()> release);
  /// Part of `whole` that begins at byte `begin`.
  static Ref<Storage> window(Ref<Storage> whole, std::size_t begin, std::size_t bytes);

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

  /// Whether one reference to this storage is the only way to its bytes. Bytes of windows and borrowed memory
  /// can be reached in other ways too.
  bool owns_bytes_alone() const noexcept {
    return unique() && (kind_ == Kind::joined || kind_ == Kind::separate);
  }

  static void destroy(Storage* storage) noexcept;

 private:
  enum class Kind : std::uint8_t { joined, separate, window, borrowed };
  struct Owner {
    Ref<Storage> whole;
    std::function<void()> release;
  };

  Storage(Kind kind, std::byte* data, std::size_t bytes) : kind_(kind), bytes_(bytes), data_(data) {}
  ~Storage() = default;

  Kind kind_;
  std::atomic<std::uint32_t> version_{0};
  std::size_t bytes_;
  std::byte* data_;
  std::unique_ptr<Owner> owner_;
};

}  // namespace heed
