#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <heed/core/ref.h>

namespace heed {

class Node;
class Tensor;

/// Sees a complete gradient; returns another one in its place, or an undefined tensor to keep it.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// Sees a leaf's `.grad` after a backward has added to it.
using StoredHook = std::function<void(const Tensor& gradient)>;

namespace detail {

/// The hooks of one node, in the order of registration. A node owns none until the first is registered.
class HookList final : public RefCounted {
 public:
  /// Stands for the `output` of hooks that run after `.grad` is stored.
  static constexpr std::uint32_t stored = 0xFFFFFFFF;

  static void destroy(HookList* list) noexcept { delete list; }
  std::uint64_t add(std::uint32_t output, GradientHook function);
  void remove(std::uint64_t id);
  void clear();
  /// Passes the gradient of an output through its hooks. GradError that names the node's operation where one
  /// returns another shape or dtype.
  Tensor run(const Node& node, std::uint32_t output, Tensor gradient) const;

 private:
  struct Hook {
    std::uint64_t id;
    std::uint32_t output;
    std::shared_ptr<const GradientHook> function;  // shared: a hook may remove itself
  };
  mutable std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::vector<Hook> hooks_;
};

}  // namespace detail

/// Takes a hook away again. May outlive the tensor; keeps nothing of it alive.
class HookHandle {
 public:
  HookHandle() = default;
  /// The hook is not called any more. Does nothing the second time.
  void remove();

 private:
  friend class Tensor;
  HookHandle(Ref<detail::HookList> list, std::uint64_t id) : list_(std::move(list)), id_(id) {}
  Ref<detail::HookList> list_;
  std::uint64_t id_ = 0;
};

}  // namespace heed
