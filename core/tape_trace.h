#pragma once

#include <cstddef>
#include <functional>

#include <heed/core/node.h>
#include <heed/core/tape_observer.h>
#include <heed/core/tensor.h>

namespace heed {

/// What one recorded operation computed: one of its results, or its gradient for one of its inputs.
struct TapeEvent {
  const Node& node;
  bool is_gradient;
  std::size_t number;   ///< of the result or the input
  const Tensor& value;  ///< only to read
};

/// `TapeTrace trace(see);` — while it lives, `see` is told of the results of the operations that this thread
/// records and of the gradients that their vector-Jacobian products give, in the order in which they are
/// computed. For comparing two runs; `see` must not record. Of nested ones the innermost sees.
class TapeTrace final : public TapeObserver {
 public:
  using See = std::function<void(const TapeEvent& event)>;

  explicit TapeTrace(See see);

 private:
  void on_recorded(const RecordedOperation& operation) override;
  void on_gradient(const Node& node, std::size_t input, const Tensor& gradient) override;

  See see_;
};

}  // namespace heed
