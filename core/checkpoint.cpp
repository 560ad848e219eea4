#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <heed/core/alias.h>
#include <heed/core/anomaly.h>
#include <heed/core/arguments.h>
#include <heed/core/checkpoint.h>
#include <heed/core/draw_log.h>
#include <heed/core/record.h>
#include <heed/core/walk.h>

namespace heed {
namespace {

constinit thread_local bool checkpoints_open = false;

// The gradients of ⟨cotangents, outputs⟩ with respect to `wanted`, as if all of `ends` were leaves.
std::vector<Tensor> grad_up_to(const std::vector<Tensor>& ends, const std::vector<Tensor>& wanted,
                               const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                               bool create_graph) {
  detail::Walk walk(create_graph, create_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].requires_grad() && cotangents[i].defined()) walk.add_root(outputs[i], cotangents[i]);
  }
  for (const Tensor& x : ends) {
    if (x.requires_grad()) walk.stop_at(x);
  }
  walk.collect();
  std::vector<std::uint32_t> slots;
  for (const Tensor& x : wanted) slots.push_back(walk.want(x));
  walk.mark();
  return walk.run_grad(slots);
}

// x holds the arguments, then what the function captures; y the floating results.
struct CheckpointVjp {
  TensorFunction function;
  std::vector<SavedTensor> x;
  std::size_t arguments = 0;
  std::vector<int> results;  // y_i is result results[i] of the function
  std::vector<OutputMeta> metas;
  DrawLog draws;
  const ScopeName* scope = nullptr;

  void vjp(VjpContext& context) const {  // y = function(x)
    std::vector<Tensor> wanted;
    std::vector<int> places;
    const auto want = [&](std::size_t i, const Tensor& x_i) {
      if (!context.needs(static_cast<int>(i))) return;
      wanted.push_back(x_i);
      places.push_back(static_cast<int>(i));
    };
    std::vector<Tensor> ends;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Tensor end = context.unpack(x[i]);
      // An argument gets a node of its own: its gradient stays apart if it is captured too, or given twice.
      if (i < arguments)
        end = detail::alias(context.recording() ? end : end.detach(), context.needs(static_cast<int>(i)));
      want(i, end);
      ends.push_back(std::move(end));
    }
    const std::vector<Tensor> given(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(arguments));
    const std::vector<Tensor> again = run_again(given);
    std::vector<Tensor> cotangents;
    for (std::size_t i = 0; i < again.size(); ++i) {
      const int output = static_cast<int>(i);
      cotangents.push_back(context.has_cotangent(output) ? context.cotangent(output) : Tensor());
    }
    const std::vector<Tensor> gradients = grad_up_to(ends, wanted, again, cotangents, context.recording());
    for (std::size_t i = 0; i < places.size(); ++i) context.set(places[i], gradients[i]);
  }

  // The floating results of the second run, recorded.
  std::vector<Tensor> run_again(const std::vector<Tensor>& given) const {
    const GradMode mode(true);
    const Scope here(scope);
    const ReplayDraws replay(draws);
    const std::vector<Tensor> all = function(given);
    if (replay.left() > 0) {
      fail<GradError>("checkpoint", "the function drew fewer random numbers when run again",
                      fmt::format("{} of {} draws are left", replay.left(), draws.size()), "the same draws");
    }
    std::vector<Tensor> y;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto at = static_cast<std::size_t>(results[i]);
      const OutputMeta& meta = metas[i];
      if (at >= all.size() || all[at].shape() != meta.shape || all[at].dtype() != meta.dtype) {
        fail<GradError>("checkpoint", "the function gave another result when run again",
                        at < all.size() ? fmt::format("result {} is {}", at, describe(all[at]))
                                        : fmt::format("{} results", all.size()),
                        fmt::format("{}{}", name_of(meta.dtype), meta.shape.str()));
      }
      y.push_back(all[at]);
    }
    return y;
  }
};

struct FirstRun {
  std::vector<Tensor> results;
  std::vector<Tensor> operands;  // the arguments, then what was captured
  DrawLog draws;
};

FirstRun run_unrecorded(const TensorFunction& function, std::span<const Tensor> inputs) {
  const NoGrad guard;
  FirstRun run;
  std::vector<Tensor> given;
  for (const Tensor& x : inputs) given.push_back(x.detach());
  const detail::CaptureOperands captures;
  {
    const RecordDraws recording(run.draws);
    run.results = function(given);
  }
  run.operands.assign(inputs.begin(), inputs.end());
  for (Tensor& y : run.results) {
    check_defined("checkpoint", "result", y);
    if (y.requires_grad()) {
      fail<GradError>("checkpoint", "the function returned a tensor with history",
                      fmt::format("{} made by {}", describe(y), y.impl()->node->op()),
                      "a result computed from its arguments, without a GradMode of its own");
    }
    y = view_of(y, y.view());  // a result of its own, also where the function returns an argument
  }
  for (const Tensor& x : captures.distinct()) run.operands.push_back(x);
  return run;
}

}  // namespace

std::vector<Tensor> checkpoint(const TensorFunction& function, std::span<const Tensor> inputs) {
  if (!function) fail<ValueError>("checkpoint", "function is empty", {}, "a function");
  for (const Tensor& x : inputs) check_defined("checkpoint", "input", x);
  const std::vector<Tensor> arguments(inputs.begin(), inputs.end());
  if (!grad_enabled() || anomaly_mode() || checkpoints_open) return function(arguments);
  FirstRun run = run_unrecorded(function, inputs);
  std::vector<int> places;
  std::vector<Tensor*> outputs;
  std::vector<OutputMeta> metas;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    Tensor& y = run.results[i];
    if (!is_floating(y.dtype())) continue;
    places.push_back(static_cast<int>(i));
    outputs.push_back(&y);
    metas.push_back({y.shape(), y.dtype()});
  }
  std::vector<const Tensor*> operands;
  for (const Tensor& x : run.operands) operands.push_back(&x);
  detail::record_spans("checkpoint", operands, outputs, [&] {
    CheckpointVjp payload;
    payload.function = function;
    for (std::size_t i = 0; i < run.operands.size(); ++i) {
      payload.x.push_back(save_input(run.operands[i], i < inputs.size() ? "input" : "captured tensor"));
    }
    payload.arguments = inputs.size();
    payload.results = places;
    payload.metas = metas;
    payload.draws = std::move(run.draws);
    payload.scope = current_scope();
    return payload;
  });
  return std::move(run.results);
}

Tensor checkpoint(const std::function<Tensor(const Tensor&)>& function, const Tensor& input) {
  if (!function) fail<ValueError>("checkpoint", "function is empty", {}, "a function");
  const TensorFunction many = [function](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{function(x[0])};
  };
  return checkpoint(many, std::span(&input, 1))[0];
}

OpenCheckpoints::OpenCheckpoints() noexcept : open_(checkpoints_open, true) {}

}  // namespace heed
