#include <algorithm>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/core/tape_observer.h>

namespace heed {
namespace {

constinit thread_local std::uint64_t last_order = 0;

}  // namespace

namespace detail {

bool must_record(std::span<const Tensor* const> inputs) {
  const auto requires_grad = [](const Tensor* x) { return x->requires_grad(); };
  if (grad_enabled()) return std::any_of(inputs.begin(), inputs.end(), requires_grad);
  if (TapeObserver::any()) [[unlikely]]
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.on_unrecorded(inputs); });
  return false;
}

// Larger than all producers' numbers and than this thread's last one: an order that needs no shared counter.
std::uint64_t next_order(std::span<const Tensor* const> inputs) {
  std::uint64_t order = last_order;
  for (const Tensor* x : inputs) {
    if (x->requires_grad()) order = std::max(order, x->impl()->node->order());
  }
  return last_order = order + 1;
}

void attach(Ref<Node> node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
            bool may_be_infinite) {
  for (const Tensor* x : inputs) {
    if (x->requires_grad()) {
      node->add_edge({x->impl()->node, x->impl()->output});
    } else {
      node->add_edge({});
    }
  }
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    TensorImpl* impl = outputs[i]->impl();
    const bool is_input =
        std::any_of(inputs.begin(), inputs.end(), [&](const Tensor* x) { return x->impl() == impl; });
    if (is_input)
      fail<GradError>(node->op(), "an output is one of the inputs", {}, "a new tensor (return a view)");
    if (impl->node) fail<GradError>(node->op(), "an output has history already", {}, "a new tensor");
    if (!is_floating(impl->dtype)) {
      fail<GradError>(node->op(), "an output is not floating", describe(*outputs[i]), "f32 or f64");
    }
    // A payload that keeps an output by `save_input` would own its own node and never be freed.
    if (!impl->unique()) {
      fail<GradError>(node->op(), "an output is held by others when it is recorded", {},
                      "a tensor held by the operation alone (save it with save_output)");
    }
    node->add_output({impl->view.shape, impl->dtype});
    impl->node = node;
    impl->output = i;
  }
  if (TapeObserver::any()) [[unlikely]] {
    const RecordedOperation operation{*node, inputs, outputs, may_be_infinite};
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.on_recorded(operation); });
  }
}

}  // namespace detail

bool will_record(std::initializer_list<const Tensor*> inputs) {
  return detail::must_record({inputs.begin(), inputs.size()});
}

void refuse_gradient(const char* op, std::initializer_list<const Tensor*> inputs) {
  if (!will_record(inputs)) return;
  fail<GradError>(op, "has no derivative", "an input requires grad",
                  "inputs without grad (detach) or a NoGrad scope");
}

}  // namespace heed
