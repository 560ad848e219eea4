#include <unordered_set>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/cast.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/optim/optimizer.h>

namespace heed::optim {

Optimizer::Optimizer(std::string name, nn::NamedTensors parameters, double lr, std::vector<Slot> slots)
    : name_(std::move(name)),
      parameters_(std::move(parameters)),
      states_(parameters_.size()),
      slots_(std::move(slots)),
      lr_(lr) {
  check_value(lr >= 0, name_, "lr", lr, "0 or more");
  std::unordered_set<const TensorImpl*> seen;
  for (const auto& [path, parameter] : parameters_) {
    check_floating(name_, path, parameter);
    if (!parameter.is_leaf())
      fail<GradError>(name_, "a parameter is the result of an operation", path, "a leaf");
    if (!seen.insert(parameter.impl()).second) fail<ValueError>(name_, "a parameter is given twice", path);
  }
}

void Optimizer::step() {
  const NoGrad guard;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& parameter = parameters_[i].second;
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    prepare(states_[i], parameter);
    ++states_[i].steps;
    Tensor elements = parameter.is_contiguous() ? parameter : copy_of(parameter);
    // A moment that decays below the normal numbers must not slow every later step down.
    const kernels::FlushSubnormals flush(elements.dtype() == DType::f32);
    update(elements, gradient.is_contiguous() ? gradient : copy_of(gradient), states_[i]);
    if (!parameter.is_contiguous()) parameter.copy_(elements);
  }
}

void Optimizer::prepare(State& state, const Tensor& parameter) const {
  if (state.slots.empty()) {
    for (const Slot& slot : slots_) {
      state.slots.push_back(full(parameter.shape(), slot.initial, parameter.dtype()));
    }
  }
  for (Tensor& slot : state.slots) {  // the module may have been converted meanwhile
    if (slot.dtype() != parameter.dtype()) slot = cast(slot, parameter.dtype());
  }
}

void Optimizer::zero_grad() {
  for (auto& [path, parameter] : parameters_) {
    if (parameter.requires_grad()) parameter.zero_grad();
  }
}

void Optimizer::decay_matrices_only() {
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].decays = parameters_[i].second.rank() >= 2;
}

void Optimizer::set_lr(double lr) {
  check_value(lr >= 0, name_, "lr", lr, "0 or more");
  lr_ = lr;
}

}  // namespace heed::optim
