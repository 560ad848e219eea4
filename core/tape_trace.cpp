#include <utility>

#include <heed/core/tape_trace.h>

namespace heed {

TapeTrace::TapeTrace(See see) : TapeObserver("trace"), see_(std::move(see)) {}

void TapeTrace::on_recorded(const RecordedOperation& operation) {
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    see_({operation.node, false, i, *operation.outputs[i]});
  }
}

void TapeTrace::on_gradient(const Node& node, std::size_t input, const Tensor& gradient) {
  see_({node, true, input, gradient});
}

}  // namespace heed
