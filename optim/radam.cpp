#include <cmath>

#include <heed/core/arguments.h>
#include <heed/optim/optimizer_loop.h>
#include <heed/optim/radam.h>

namespace heed::optim {

RAdam::RAdam(nn::NamedTensors parameters, const RAdamOptions& options)
    : Optimizer("RAdam", std::move(parameters), options.lr, {{"first_moment"}, {"second_moment"}}),
      options_(options) {
  check_value(options.beta1 >= 0 && options.beta1 < 1, "RAdam", "beta1", options.beta1, "0 <= beta1 < 1");
  check_value(options.beta2 >= 0 && options.beta2 < 1, "RAdam", "beta2", options.beta2, "0 <= beta2 < 1");
  check_value(options.epsilon >= 0, "RAdam", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "RAdam", "weight_decay", options.weight_decay, "0 or more");
}

void RAdam::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const double decay = state.decay(options_.weight_decay);
  const auto t = static_cast<double>(state.steps);
  const double power = std::pow(options_.beta2, t);
  const double limit = 2 / (1 - options_.beta2) - 1;
  const double length = limit - 2 * t * power / (1 - power);  // ρ_t
  const bool rectified = length > 5;
  const double rate = lr() / (1 - std::pow(options_.beta1, t));
  const double rectification =
      rectified ? std::sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) : 1;
  const double adaptive_rate = rate * rectification * std::sqrt(1 - power);
  const auto rule = [&]<class T>(T& theta, T g, T& m, T& v) {
    g += static_cast<T>(decay) * theta;
    m = static_cast<T>(options_.beta1) * m + static_cast<T>(1 - options_.beta1) * g;
    v = static_cast<T>(options_.beta2) * v + static_cast<T>(1 - options_.beta2) * g * g;
    if (rectified) {
      theta -= static_cast<T>(adaptive_rate) * m / (std::sqrt(v) + static_cast<T>(options_.epsilon));
    } else {
      theta -= static_cast<T>(rate) * m;
    }
  };
  update_elements<2>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
