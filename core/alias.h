#pragma once

#include <span>
#include <vector>

#include <heed/core/tape_observer.h>
#include <heed/core/tensor.h>

namespace heed::detail {

/// A result of its own with the elements and the history of x, so that gradients with respect to it stop
/// there. Without history of x, or under NoGrad, a fresh leaf where `leaf` asks for one.
Tensor alias(const Tensor& x, bool leaf);

/// The operands with history that unrecorded operations of this thread read while it lives: what a function
/// captures. For functions that run under NoGrad and are given detached arguments. What a function captures,
/// the function round it captures as well.
class CaptureOperands final : public TapeObserver {
 public:
  CaptureOperands() noexcept = default;
  /// Each leaf or result once, in the order in which they were first read.
  std::vector<Tensor> distinct() const;

 private:
  void on_unrecorded(std::span<const Tensor* const> inputs) override;

  std::vector<Tensor> captured_;
};

/// Whether two tensors are the same leaf or result.
bool same_result(const Tensor& a, const Tensor& b);

}  // namespace heed::detail
