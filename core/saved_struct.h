#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <heed/core/saved_tensor.h>
#include <heed/core/vjp_context.h>

namespace heed {

/// A struct of options kept for backward. Its tensors are saved with their versions, as every other operand:
/// a write to one between forward and backward gives an error there, not a wrong number. The struct says
/// which tensors it has, by a function template `visit_tensors(Options& options, Visit&& visit)` beside it
/// that calls `visit("mask", options.mask)` for each.
template <class Options>
class SavedStruct {
 public:
  SavedStruct() = default;
  explicit SavedStruct(Options options) : rest_(std::move(options)) {
    visit_tensors(rest_, [&](const char* name, Tensor& x) {
      saved_.push_back(save_input(x, name));
      x = Tensor();
    });
  }
  /// The struct with its tensors; GradError as `VjpContext::unpack`.
  Options unpack(const VjpContext& context) const {
    Options options = rest_;
    std::size_t next = 0;
    visit_tensors(options, [&](const char*, Tensor& x) { x = context.unpack(saved_[next++]); });
    return options;
  }

 private:
  Options rest_{};  // without its tensors
  std::vector<SavedTensor> saved_;
};

}  // namespace heed
