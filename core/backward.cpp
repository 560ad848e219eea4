#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/walk.h>

namespace heed {

namespace {

constexpr std::uint32_t none = NodeIndex::none;

Tensor root_cotangent(const char* op, const Tensor& output, const Tensor& given) {
  check_defined(op, "output", output);
  if (!output.requires_grad()) {
    fail<GradError>(op, "output has no history", describe(output), "a result of recorded operations");
  }
  if (given.defined()) {
    check_same_dtype(op, "output", output, "cotangent", given);
    check_same_shape(op, "output", output, "cotangent", given);
    return given;
  }
  if (output.numel() != 1) {
    fail<ShapeError>(op, "output has several elements and no cotangent",
                     fmt::format("it is {}", output.shape().str()),
                     "one element, or a cotangent of its shape");
  }
  return full(output.shape(), 1, output.dtype());
}

[[noreturn]] void fail_unused(std::size_t input) {
  fail<GradError>("grad", "the outputs do not depend on an input", fmt::format("input {}", input),
                  "a path to it (or allow_unused = true)");
}

}  // namespace

void backward(const Tensor& loss, const BackwardOptions& options) {
  detail::Walk walk(false, options.retain_graph);
  walk.add_root(loss, root_cotangent("backward", loss, options.cotangent));
  walk.collect();
  walk.want_all_leaves();
  walk.mark();
  walk.run_backward();
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size()) {
    fail<ValueError>("grad", "wrong number of grad_outputs",
                     fmt::format("{} were given", options.grad_outputs.size()),
                     fmt::format("none or {}", outputs.size()));
  }
  detail::Walk walk(options.create_graph, options.retain_graph || options.create_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    walk.add_root(outputs[i],
                  root_cotangent("grad", outputs[i],
                                 options.grad_outputs.empty() ? Tensor() : options.grad_outputs[i]));
  }
  walk.collect();
  std::vector<std::uint32_t> captures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_defined("grad", "input", inputs[i]);
    if (!inputs[i].requires_grad()) {
      fail<GradError>("grad", "an input does not require grad", fmt::format("input {}", i),
                      "inputs with history");
    }
    captures.push_back(walk.want(inputs[i]));
    if (captures.back() == none && !options.allow_unused) fail_unused(i);  // before anything is freed
  }
  walk.mark();
  std::vector<Tensor> captured = walk.run_grad(captures);
  for (std::size_t i = 0; i < captured.size(); ++i) {
    if (!captured[i].defined() && !options.allow_unused) fail_unused(i);
  }
  return captured;
}

Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options) {
  return grad(std::span(&output, 1), std::span(&input, 1), options)[0];
}

}  // namespace heed
