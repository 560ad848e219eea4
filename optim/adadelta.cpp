#include <cmath>

#include <heed/core/arguments.h>
#include <heed/optim/adadelta.h>
#include <heed/optim/optimizer_loop.h>

namespace heed::optim {

Adadelta::Adadelta(nn::NamedTensors parameters, const AdadeltaOptions& options)
    : Optimizer("Adadelta", std::move(parameters), options.lr, {{"square_average"}, {"step_average"}}),
      options_(options) {
  check_value(options.rho >= 0 && options.rho < 1, "Adadelta", "rho", options.rho, "0 <= rho < 1");
  check_value(options.epsilon >= 0, "Adadelta", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "Adadelta", "weight_decay", options.weight_decay, "0 or more");
}

void Adadelta::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const double decay = state.decay(options_.weight_decay);
  const auto rule = [&, rate = lr()]<class T>(T& theta, T g, T& v, T& s) {
    const T rho = static_cast<T>(options_.rho);
    const T rest = static_cast<T>(1 - options_.rho);
    const T epsilon = static_cast<T>(options_.epsilon);
    g += static_cast<T>(decay) * theta;
    v = rho * v + rest * g * g;
    const T step = std::sqrt(s + epsilon) / std::sqrt(v + epsilon) * g;
    s = rho * s + rest * step * step;
    theta -= static_cast<T>(rate) * step;
  };
  update_elements<2>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
