#pragma once

#include <span>
#include <vector>

#include <heed/core/tape_observer.h>
#include <heed/core/tensor.h>

namespace heed::detail {

/// A new tensor with the elements and the history of x and a place of its own on the tape, so that a gradient
/// with respect to it stops there. Where nothing is recorded, it is a fresh leaf if `leaf` is true, and
/// otherwise a constant.
Tensor alias(const Tensor& x, bool leaf);

/// While it lives, notes the operands with history that unrecorded operations of this thread read: what a
/// function captures. For functions that run under NoGrad and are given detached arguments. It may nest: what
/// an inner function captures, the outer one captures as well.
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
