#include <cmath>

#include <heed/core/arguments.h>
#include <heed/optim/nadam.h>
#include <heed/optim/optimizer_loop.h>

namespace heed::optim {

NAdam::NAdam(nn::NamedTensors parameters, const NAdamOptions& options)
    : Optimizer("NAdam", std::move(parameters), options.lr, {{"first_moment"}, {"second_moment"}}),
      options_(options) {
  check_value(options.beta1 >= 0 && options.beta1 < 1, "NAdam", "beta1", options.beta1, "0 <= beta1 < 1");
  check_value(options.beta2 >= 0 && options.beta2 < 1, "NAdam", "beta2", options.beta2, "0 <= beta2 < 1");
  check_value(options.epsilon >= 0, "NAdam", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "NAdam", "weight_decay", options.weight_decay, "0 or more");
  check_value(options.momentum_decay >= 0, "NAdam", "momentum_decay", options.momentum_decay, "0 or more");
}

void NAdam::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const double decay = state.decay(options_.weight_decay);
  const auto mu = [this](std::int64_t t) {
    const double power = static_cast<double>(t) * options_.momentum_decay;
    return options_.beta1 * (1 - 0.5 * std::pow(0.96, power));
  };
  double product = 1;
  for (std::int64_t t = 1; t <= state.steps; ++t) product *= mu(t);
  const double next = mu(state.steps + 1);
  const double gradient_rate = lr() * (1 - mu(state.steps)) / (1 - product);
  const double momentum_rate = lr() * next / (1 - product * next);
  const double correction = 1 / std::sqrt(1 - std::pow(options_.beta2, static_cast<double>(state.steps)));
  const auto rule = [&]<class T>(T& theta, T g, T& m, T& v) {
    g += static_cast<T>(decay) * theta;
    m = static_cast<T>(options_.beta1) * m + static_cast<T>(1 - options_.beta1) * g;
    v = static_cast<T>(options_.beta2) * v + static_cast<T>(1 - options_.beta2) * g * g;
    const T spread = std::sqrt(v) * static_cast<T>(correction) + static_cast<T>(options_.epsilon);
    theta -= (static_cast<T>(gradient_rate) * g + static_cast<T>(momentum_rate) * m) / spread;
  };
  update_elements<2>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
