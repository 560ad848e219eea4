#include <heed/core/factory.h>
#include <heed/ops/cast.h>
#include <heed/optim/clip.h>
#include <heed/optim/schedule.h>

#include "tables.h"

namespace heed::conformance {
namespace {

optim::Schedule schedule_of(const Call& call, double lr) {
  const Attributes& a = call.attributes;
  const std::string name = a.text("schedule", "");
  if (name == "StepLR") return optim::step_decay({lr, a.integer("step_size"), a.real("gamma", 0.1)});
  if (name == "MultiStepLR") {
    const Integers milestones = a.integers("milestones");
    return optim::multi_step_decay({lr, {milestones.begin(), milestones.end()}, a.real("gamma", 0.1)});
  }
  if (name == "LinearLR") {
    return optim::linear_ramp(
        {lr, a.real("start_factor", 1.0 / 3), a.real("end_factor", 1), a.integer("total_iters", 5)});
  }
  if (name == "ExponentialLR") return optim::exponential_decay({lr, a.real("gamma")});
  if (name == "CosineAnnealingLR")
    return optim::cosine_annealing({lr, a.real("eta_min", 0), a.integer("T_max")});
  if (name == "CosineAnnealingWarmRestarts") {
    return optim::cosine_restarts({lr, a.real("eta_min", 0), a.integer("T_0"), a.integer("T_mult", 1)});
  }
  if (name == "OneCycleLR") {
    return optim::one_cycle({a.real("max_lr"), a.integer("total_steps"), a.real("pct_start", 0.3),
                             a.real("div_factor", 25), a.real("final_div_factor", 1e4)});
  }
  throw Skip("lr_schedule: schedule '" + name + "' is not known");
}

Tensors lr_schedule(const Call& call) {
  const Tensor start = call.named("start");
  const optim::Schedule schedule = schedule_of(call, number_of(start));
  const std::int64_t steps = call.attributes.integer("steps", 30);
  std::vector<double> rates;
  for (std::int64_t step = 0; step < steps; ++step) rates.push_back(schedule(step));
  return {cast(from_span(std::span<const double>(rates), {steps}), start.dtype())};
}

/// The inputs are gradients. Outputs are the norm before, then the gradients
/// after.
Tensors clip_gradients(const Call& call) {
  if (call.attributes.real("eps", 1e-6) != 1e-6) throw Skip("clip_grad_norm: only eps 1e-6 is known");
  nn::NamedTensors parameters;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    parameters.emplace_back(call.names[i], zeros_like(call.at(i)).set_requires_grad());
    parameters.back().second.set_grad(call.at(i));
  }
  const double total = optim::clip_grad_norm(parameters, call.attributes.real("max_norm"));
  Tensors outputs{cast(scalar(total), call.at(0).dtype())};
  for (const auto& [name, parameter] : parameters) outputs.push_back(parameter.grad());
  return outputs;
}

}  // namespace

void add_torch_training(Table& table) {
  table["lr_schedule"] = lr_schedule;
  table["clip_grad_norm"] = clip_gradients;
}

}  // namespace heed::conformance
