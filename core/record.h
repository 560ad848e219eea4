#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/saved_tensor.h>
#include <heed/core/vjp_context.h>

namespace heed {

namespace detail {

/// Whether something would be recorded for these inputs: gradients are on and one of them requires grad.
bool must_record(std::span<const Tensor* const> inputs);
std::uint64_t next_order(std::span<const Tensor* const> inputs);
void attach(Ref<Node> node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
            bool may_be_infinite);

/// Whether a payload says `static constexpr bool may_be_infinite = true;`: its operation makes infinities of
/// finite operands on purpose, and AnomalyMode lets them pass.
template <class Payload>
constexpr bool may_be_infinite() {
  if constexpr (requires { Payload::may_be_infinite; }) return Payload::may_be_infinite;
  return false;
}

/// Node of an operation: calls `payload.vjp(context)`.
template <class Payload>
class OpNode final : public Node {
 public:
  OpNode(const char* op, std::uint64_t order, Payload payload)
      : Node(op, order), payload_(std::move(payload)) {}
  void vjp(VjpContext& context) override { payload_.vjp(context); }

 private:
  void release_saved() override { payload_ = Payload{}; }
  Payload payload_;
};

template <class Make>
void record_spans(const char* op, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                  Make&& make) {
  if (!must_record(inputs)) return;
  using Payload = std::remove_cvref_t<decltype(make())>;
  begin_saving();
  Ref<Node> node(new OpNode<Payload>(op, next_order(inputs), make()));
  node->set_saved_bytes(end_saving());
  attach(std::move(node), inputs, outputs, may_be_infinite<Payload>());
}

}  // namespace detail

/// The only way for an operation to get on the tape. When gradients are on and an input requires grad,
/// calls `make()` for the payload, an aggregate of named fields (SavedTensors and plain values) with
/// `void vjp(VjpContext& context) const`, and makes `outputs` results of the new node. Otherwise it saves
/// nothing and calls nothing. Undefined inputs are allowed (optional arguments). Each output is a floating
/// tensor that nobody else holds yet, and is none of the inputs; a payload saves outputs by
/// `save_output` only. GradError otherwise.
template <class Make>
void record(const char* op, std::initializer_list<const Tensor*> inputs, Tensor& output, Make&& make) {
  Tensor* const outputs[] = {&output};
  detail::record_spans(op, {inputs.begin(), inputs.size()}, outputs, std::forward<Make>(make));
}

template <class Make>
void record(const char* op, std::initializer_list<const Tensor*> inputs,
            std::initializer_list<Tensor*> outputs, Make&& make) {
  detail::record_spans(op, {inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()},
                       std::forward<Make>(make));
}

template <class Make>
void record(const char* op, std::span<const Tensor> inputs, Tensor& output, Make&& make) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& x : inputs) pointers.push_back(&x);
  Tensor* const outputs[] = {&output};
  detail::record_spans(op, pointers, outputs, std::forward<Make>(make));
}

/// Whether `record` would record for these inputs. For operations that compute extra
/// results only for backward.
bool will_record(std::initializer_list<const Tensor*> inputs);

/// For operations without a derivative: GradError that names `op` when gradients are on and
/// an input requires grad.
void refuse_gradient(const char* op, std::initializer_list<const Tensor*> inputs);

}  // namespace heed
