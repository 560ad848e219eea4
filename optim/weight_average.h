#pragma once

#include <heed/nn/module.h>

namespace heed::optim {

/// Exponential moving average of weights: a ← d a + (1 − d) θ after each step, a = θ at the start.
/// Throws    ValueError unless 0 ≤ decay < 1.
class WeightAverage {
 public:
  WeightAverage(nn::NamedTensors parameters, double decay);

  void update();
  /// The averages under the parameters' names; the handles share their elements with this.
  nn::NamedTensors state_dict() const { return averages_; }
  /// Strict: ValueError that lists every problem; nothing is changed then.
  void load_state_dict(const nn::NamedTensors& state);
  /// Exchanges parameters and averages. Done twice it changes nothing.
  void swap();

 private:
  nn::NamedTensors parameters_;
  nn::NamedTensors averages_;
  double decay_;
};

/// Puts the averages, if there are any, in the parameters' place for a scope.
class AveragedWeights {
 public:
  explicit AveragedWeights(WeightAverage* average) : average_(average) {
    if (average_ != nullptr) average_->swap();
  }
  ~AveragedWeights() {
    if (average_ != nullptr) average_->swap();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  WeightAverage* average_;
};

}  // namespace heed::optim
