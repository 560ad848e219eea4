#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace heed {

/// Intrusive reference count. The derived class provides `static void destroy(Derived*) noexcept`.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Gives up one reference; true when it was the last. Where it is the only one, nobody else can take
  /// another, so the locked subtraction is left out.
  bool drop() const noexcept { return unique() || count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<std::uint32_t> count_{0};
};

/// Owning pointer to a RefCounted object; the size of one pointer.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->drop()) T::destroy(object_);
  }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace heed
