#include <utility>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/optim/state_reader.h>
#include <heed/optim/weight_average.h>

namespace heed::optim {

WeightAverage::WeightAverage(nn::NamedTensors parameters, double decay)
    : parameters_(std::move(parameters)), averages_(parameters_), decay_(decay) {
  check_value(decay >= 0 && decay < 1, "WeightAverage", "decay", decay, "0 <= decay < 1");
  for (auto& [path, average] : averages_) average = copy_of(average);
}

void WeightAverage::update() {
  const NoGrad guard;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& average = averages_[i].second;
    average = average * decay_ + parameters_[i].second.detach() * (1 - decay_);
  }
}

void WeightAverage::load_state_dict(const nn::NamedTensors& state) {
  StateReader reader(state);
  nn::NamedTensors loaded;
  for (const auto& [path, parameter] : parameters_) {
    loaded.emplace_back(path, reader.take(path, parameter.shape(), parameter.dtype()));
  }
  reader.check("WeightAverage");
  for (auto& [path, average] : loaded) average = copy_of(average);
  averages_ = std::move(loaded);
}

void WeightAverage::swap() {
  const NoGrad guard;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor former = copy_of(parameters_[i].second);
    parameters_[i].second.copy_(averages_[i].second);
    averages_[i].second = std::move(former);
  }
}

}  // namespace heed::optim
