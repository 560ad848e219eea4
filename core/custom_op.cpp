#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/alias.h>
#include <heed/core/arguments.h>
#include <heed/core/custom_op.h>
#include <heed/core/record.h>

namespace heed {
namespace {

struct CustomPayload {
  std::function<void(CustomVjp&)> backward;
  CustomVjp::Saved saved;
  const char* name = "";
  bool differentiable = true;

  void vjp(VjpContext& context) const {
    if (context.recording() && !differentiable) {
      fail<GradError>(name, "the backward has no derivative", "it was asked for with create_graph",
                      "a backward written with heed's operations");
    }
    CustomVjp custom(context, saved);
    backward(custom);
  }
};

// What forward reads without its being an input would lose its gradient.
void check_captures(const char* name, const std::vector<Tensor>& captured,
                    const std::vector<Tensor>& inputs) {
  for (const Tensor& x : captured) {
    const bool given = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
      return input.requires_grad() && detail::same_result(input, x);
    });
    if (given) continue;
    fail<GradError>(name, "forward reads a tensor that requires grad and is no input",
                    fmt::format("{} made by {}", describe(x), x.impl()->node->op()),
                    "it among the inputs, or detached");
  }
}

CustomVjp::Kept keep(const char* name, const Tensor& x, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].impl() == x.impl())
      return {name, save_output(x, name, static_cast<std::uint32_t>(i)), false};
  }
  const bool is_input = std::any_of(inputs.begin(), inputs.end(),
                                    [&](const Tensor& input) { return input.impl() == x.impl(); });
  return {name, save_input(x, name), !is_input && x.defined() && is_floating(x.dtype())};
}

}  // namespace

Tensor CustomVjp::saved(const char* name) const {
  for (const Kept& kept : saved_) {
    if (kept.name != name) continue;
    if (kept.intermediate && recording()) {
      fail<GradError>("custom_op", "a saved tensor is neither input nor result and has no history",
                      fmt::format("{}, read with create_graph", name), "the inputs that it was made from");
    }
    return context_.unpack(kept.tensor);
  }
  std::string names;
  for (const Kept& kept : saved_) names += (names.empty() ? "" : ", ") + kept.name;
  fail<ValueError>("custom_op", "no tensor was saved under this name", name,
                   names.empty() ? "one that forward saved (it saved none)" : names);
}

std::vector<Tensor> custom_op(const char* name, const std::vector<Tensor>& inputs,
                              const std::function<std::vector<Tensor>(CustomSave&)>& forward,
                              const std::function<void(CustomVjp&)>& backward,
                              const CustomOpOptions& options) {
  if (!forward || !backward) fail<ValueError>(name, "a function is empty", {}, "forward and backward");
  CustomSave save;
  std::vector<Tensor> outputs;
  {
    const NoGrad guard;
    const detail::CaptureOperands captures;
    outputs = forward(save);
    check_captures(name, captures.distinct(), inputs);
  }
  auto kept = save.take();
  std::vector<const Tensor*> operands;
  for (const Tensor& x : inputs) operands.push_back(&x);
  std::vector<Tensor*> results;
  for (Tensor& y : outputs) {
    check_defined(name, "result", y);
    results.push_back(&y);
  }
  detail::record_spans(name, operands, results, [&] {
    CustomPayload payload{backward, {}, name, options.differentiable_backward};
    for (auto& [label, x] : kept) {
      payload.saved.push_back(keep(label, x, inputs, outputs));
    }
    kept.clear();  // results are now held by `outputs` alone
    return payload;
  });
  return outputs;
}

Tensor custom_op(const char* name, const std::vector<Tensor>& inputs,
                 const std::function<Tensor(CustomSave&)>& forward,
                 const std::function<void(CustomVjp&)>& backward, const CustomOpOptions& options) {
  if (!forward) fail<ValueError>(name, "a function is empty", {}, "forward and backward");
  const std::function<std::vector<Tensor>(CustomSave&)> many = [&](CustomSave& save) {
    std::vector<Tensor> results;
    results.push_back(forward(save));
    return results;
  };
  return custom_op(name, inputs, many, backward, options)[0];
}

}  // namespace heed
