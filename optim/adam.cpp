#include <algorithm>
#include <cmath>

#include <heed/core/check.h>
#include <heed/optim/adam.h>
#include <heed/optim/optimizer_loop.h>

namespace heed::optim {

Adam::Adam(nn::NamedTensors parameters, const AdamOptions& options)
    : Optimizer("Adam", std::move(parameters), options.lr,
                {{"first_moment"}, {"second_moment"}, {"greatest_moment"}}),
      options_(options) {
  check_value(options.beta1 >= 0 && options.beta1 < 1, "Adam", "beta1", options.beta1, "0 <= beta1 < 1");
  check_value(options.beta2 >= 0 && options.beta2 < 1, "Adam", "beta2", options.beta2, "0 <= beta2 < 1");
  check_value(options.epsilon >= 0, "Adam", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "Adam", "weight_decay", options.weight_decay, "0 or more");
}

void Adam::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const auto t = static_cast<double>(state.steps);
  const double rate = lr() / (1 - std::pow(options_.beta1, t));
  const double correction = 1 / std::sqrt(1 - std::pow(options_.beta2, t));
  const double weight_decay = state.decay(options_.weight_decay);
  const double keep = options_.decoupled_decay ? 1 - lr() * weight_decay : 1;
  const double decay = options_.decoupled_decay ? 0 : weight_decay;
  const auto rule = [&]<class T>(T& theta, T g, T& m, T& v, T& greatest) {
    theta *= static_cast<T>(keep);
    g += static_cast<T>(decay) * theta;
    m = static_cast<T>(options_.beta1) * m + static_cast<T>(1 - options_.beta1) * g;
    v = static_cast<T>(options_.beta2) * v + static_cast<T>(1 - options_.beta2) * g * g;
    greatest = std::max(greatest, v);
    const T spread = std::sqrt(options_.amsgrad ? greatest : v) * static_cast<T>(correction);
    theta -= static_cast<T>(rate) * m / (spread + static_cast<T>(options_.epsilon));
  };
  update_elements<3>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
