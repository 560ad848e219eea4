#include <fmt/format.h>

#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/optim/optimizer.h>
#include <heed/optim/state_reader.h>

namespace heed::optim {
namespace {

constexpr std::string_view steps_part = "steps";

std::string path_of(const std::string& parameter, std::string_view part) {
  return fmt::format("{}.{}", parameter, part);
}

}  // namespace

nn::NamedTensors Optimizer::state_dict() const {
  nn::NamedTensors result;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const State& state = states_[i];
    if (state.steps == 0) continue;
    const std::string& parameter = parameters_[i].first;
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      result.emplace_back(path_of(parameter, slots_[k].name), state.slots[k].detach());
    }
    result.emplace_back(path_of(parameter, steps_part), scalar(state.steps));
  }
  return result;
}

void Optimizer::load_state_dict(const nn::NamedTensors& state) {
  StateReader given(state);
  std::vector<State> loaded;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [path, parameter] = parameters_[i];
    State next{.decays = states_[i].decays};
    if (const std::string steps_path = path_of(path, steps_part); given.has(steps_path)) {
      next.steps = given.take_int(steps_path);
      if (next.steps < 1) given.problem(fmt::format("'{}' is {}", steps_path, next.steps));
      for (const Slot& slot : slots_) {
        next.slots.push_back(given.take(path_of(path, slot.name), parameter.shape(), parameter.dtype()));
      }
    }
    loaded.push_back(std::move(next));
  }
  given.check(name_);
  for (State& next : loaded) {
    for (Tensor& slot : next.slots) slot = copy_of(slot);
  }
  states_ = std::move(loaded);
}

}  // namespace heed::optim
