#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/core/vjp_context.h>

namespace heed {

const Tensor& VjpContext::cotangent(int output) {
  Tensor& cotangent = cotangents_[static_cast<std::size_t>(output)];
  if (!cotangent.defined()) {
    const OutputMeta& meta = node_.outputs()[static_cast<std::size_t>(output)];
    cotangent = zeros(meta.shape, meta.dtype);
  }
  return cotangent;
}

Tensor VjpContext::take_cotangent(int output) {
  cotangent(output);
  return std::exchange(cotangents_[static_cast<std::size_t>(output)], Tensor());
}

void VjpContext::set(int input, Tensor gradient) {
  if (needs(input)) gradients_[static_cast<std::size_t>(input)] = std::move(gradient);
}

bool VjpContext::may_overwrite(const SavedTensor& saved) const {
  return !retained_ && fused() && saved.defined() && saved.tensor_.is_contiguous() &&
         saved.tensor_.owns_storage_alone();
}

bool VjpContext::recording() const { return grad_enabled(); }

bool VjpContext::fused() const { return !grad_enabled() && fusion_enabled(); }

Tensor VjpContext::unpack(const SavedTensor& saved) const {
  if (!saved.defined()) return {};
  const std::uint32_t version = saved.tensor_.storage()->version();
  if (version != saved.version_) {
    fail<GradError>(node_.op(), "a saved tensor was overwritten before backward",
                    fmt::format("{} is {} at version {}", saved.name_, saved.tensor_.shape().str(), version),
                    fmt::format("version {}", saved.version_));
  }
  if (!saved.is_output_) return saved.tensor_;
  Tensor output = view_of(saved.tensor_, saved.tensor_.view());
  output.impl()->node = Ref<Node>(&node_);
  output.impl()->output = saved.output_;
  return output;
}

}  // namespace heed
