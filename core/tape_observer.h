#pragma once

#include <cstddef>
#include <span>

namespace heed {

class Node;
class Tensor;

/// An operation that was just recorded.
struct RecordedOperation {
  Node& node;
  std::span<const Tensor* const> inputs;  ///< optional ones may be undefined
  std::span<Tensor* const> outputs;
  bool may_be_infinite;  ///< whether its payload makes infinities of finite operands on purpose
};

/// Base of what watches the tape: while it lives, it is told what this thread records and what the walks of
/// this thread compute, as it happens. Observers nest; the innermost is told first. An observer is made and
/// destroyed on one thread. What it throws, the operation throws; it must not record anything.
/// AnomalyMode, TapeClock, TapeLedger and TapeTrace are observers.
class TapeObserver {
 public:
  TapeObserver(const TapeObserver&) = delete;
  TapeObserver& operator=(const TapeObserver&) = delete;

  /// The payload of an operation is about to be made.
  virtual void before_saving() {}
  /// The payload keeps this tensor.
  virtual void on_saved(const Tensor&) {}
  virtual void on_recorded(const RecordedOperation&) {}
  /// Gradients are off: an operation with these inputs is not recorded.
  virtual void on_unrecorded(std::span<const Tensor* const>) {}
  /// The cotangent of output number `output` is complete; the rule has not seen it yet.
  virtual void on_cotangent(const Node&, std::size_t /*output*/, const Tensor&) {}
  virtual void before_vjp(const Node&) {}
  virtual void after_vjp(const Node&) {}
  /// What the rule gave for input number `input`; after after_vjp.
  virtual void on_gradient(const Node&, std::size_t /*input*/, const Tensor&) {}

  /// Calls `tell(observer)` for each observer of this thread that listens.
  template <class Tell>
  static void tell_all(Tell&& tell);
  static bool any() noexcept { return innermost != nullptr; }

 protected:
  /// `kind` is a name, or null. Of nested observers of one kind only the innermost listens; observers without
  /// a kind all listen.
  explicit TapeObserver(const char* kind = nullptr) noexcept;
  virtual ~TapeObserver();

 private:
  TapeObserver* next_of_kind() const noexcept;

  static constinit thread_local TapeObserver* innermost;
  TapeObserver* outer_;
  const char* kind_;
  bool listens_ = true;
};

// Not inlined: where nobody observes, which is nearly always, it costs its caller one test.
template <class Tell>
[[gnu::noinline, gnu::cold]] void TapeObserver::tell_all(Tell&& tell) {
  for (TapeObserver* observer = innermost; observer != nullptr; observer = observer->outer_) {
    if (observer->listens_) tell(*observer);
  }
}

}  // namespace heed
