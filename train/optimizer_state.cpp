#include <map>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/train/optimizer.h>

namespace heed::train {
namespace {

constexpr std::string_view kSteps = "steps";

std::string path_of(const std::string& parameter, std::string_view part) {
  return fmt::format("{}.{}", parameter, part);
}

// Tensors by name. What is taken is gone, so that in the end only unknown names are left.
class Given {
 public:
  explicit Given(const nn::NamedTensors& state) {
    for (const auto& [path, value] : state) {
      if (!tensors_.emplace(path, value).second) problem("'{}' is given twice", path);
    }
  }

  bool has(const std::string& path) const { return tensors_.count(path) != 0; }

  Tensor take(const std::string& path, const Shape& shape, DType dtype) {
    const auto found = tensors_.find(path);
    if (found == tensors_.end()) {
      problem("'{}' is missing", path);
      return {};
    }
    const Tensor value = found->second;
    tensors_.erase(found);
    if (value.defined() && value.shape() == shape && value.dtype() == dtype) return value;
    problem("'{}' is {}, not {}{}", path, value.defined() ? describe(value) : "undefined", name_of(dtype),
            shape.str());
    return {};
  }

  void check(const std::string& optimizer) {
    for (const auto& [path, value] : tensors_) problem("'{}' belongs to no parameter", path);
    if (problems_.empty()) return;
    fail<ValueError>("load_state_dict", fmt::format("the state does not fit {}", optimizer), problems_);
  }

  template <class... Args>
  void problem(fmt::format_string<Args...> text, Args&&... args) {
    if (!problems_.empty()) problems_ += "; ";
    problems_ += fmt::format(text, std::forward<Args>(args)...);
  }

 private:
  std::map<std::string, Tensor> tensors_;
  std::string problems_;
};

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
    result.emplace_back(path_of(parameter, kSteps), scalar(state.steps));
  }
  return result;
}

void Optimizer::load_state_dict(const nn::NamedTensors& state) {
  Given given(state);
  std::vector<State> loaded;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [path, parameter] = parameters_[i];
    State next{.decays = states_[i].decays};
    if (const std::string steps_path = path_of(path, kSteps); given.has(steps_path)) {
      const Tensor steps = given.take(steps_path, {}, DType::i64);
      if (steps.defined()) next.steps = steps.item<std::int64_t>();
      if (steps.defined() && next.steps < 1) given.problem("'{}' is {}", steps_path, next.steps);
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

}  // namespace heed::train
