#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/hooks.h>
#include <heed/core/node.h>

namespace heed {
namespace detail {

std::uint64_t HookList::add(std::uint32_t output, GradientHook function) {
  auto shared = std::make_shared<const GradientHook>(std::move(function));
  const std::lock_guard lock(mutex_);
  hooks_.push_back({++last_id_, output, std::move(shared)});
  return last_id_;
}

void HookList::remove(std::uint64_t id) {
  std::shared_ptr<const GradientHook> removed;  // destroyed after the lock is given back
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(hooks_.begin(), hooks_.end(), [&](const Hook& hook) { return hook.id == id; });
  if (at == hooks_.end()) return;
  removed = std::move(at->function);
  hooks_.erase(at);
}

void HookList::clear() {
  std::vector<Hook> removed;
  const std::lock_guard lock(mutex_);
  removed.swap(hooks_);
}

Tensor HookList::run(const Node& node, std::uint32_t output, Tensor gradient) const {
  std::vector<Hook> hooks;
  {
    const std::lock_guard lock(mutex_);
    hooks = hooks_;
  }
  for (const Hook& hook : hooks) {
    if (hook.output != output) continue;
    Tensor replacement = (*hook.function)(gradient);
    if (!replacement.defined()) continue;
    if (replacement.shape() != gradient.shape() || replacement.dtype() != gradient.dtype()) {
      fail<GradError>(node.op(), "a hook returned a gradient of another shape or dtype",
                      describe(replacement), describe(gradient));
    }
    gradient = std::move(replacement);
  }
  return gradient;
}

}  // namespace detail

void HookHandle::remove() {
  if (list_) list_->remove(id_);
  list_ = {};
}

}  // namespace heed
