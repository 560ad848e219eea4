#include <cmath>

#include <heed/core/arguments.h>
#include <heed/optim/optimizer_loop.h>
#include <heed/optim/rmsprop.h>

namespace heed::optim {

RMSprop::RMSprop(nn::NamedTensors parameters, const RMSpropOptions& options)
    : Optimizer("RMSprop", std::move(parameters), options.lr,
                {{options.centered ? "variance" : "square_average"}, {"gradient_average"}, {"velocity"}}),
      options_(options) {
  check_value(options.alpha >= 0 && options.alpha < 1, "RMSprop", "alpha", options.alpha, "0 <= alpha < 1");
  check_value(options.epsilon >= 0, "RMSprop", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "RMSprop", "weight_decay", options.weight_decay, "0 or more");
  check_value(options.momentum >= 0, "RMSprop", "momentum", options.momentum, "0 or more");
}

void RMSprop::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const double decay = state.decay(options_.weight_decay);
  const auto rule = [&, rate = lr()]<class T>(T& theta, T g, T& v, T& a, T& u) {
    const T alpha = static_cast<T>(options_.alpha);
    const T rest = static_cast<T>(1 - options_.alpha);
    g += static_cast<T>(decay) * theta;
    if (options_.centered) {
      // The difference of a mean of squares and a squared mean would lose its digits, and its sign.
      const T d = g - a;
      v = alpha * (v + rest * d * d);
      a = alpha * a + rest * g;
    } else {
      v = alpha * v + rest * g * g;
    }
    u = static_cast<T>(options_.momentum) * u + g / (std::sqrt(v) + static_cast<T>(options_.epsilon));
    theta -= static_cast<T>(rate) * u;
  };
  update_elements<3>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
