#include <cmath>

#include <heed/core/arguments.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/optimizer_loop.h>

namespace heed::optim {

Adagrad::Adagrad(nn::NamedTensors parameters, const AdagradOptions& options)
    : Optimizer("Adagrad", std::move(parameters), options.lr, {{"square_sum", options.initial_accumulator}}),
      options_(options) {
  check_value(options.lr_decay >= 0, "Adagrad", "lr_decay", options.lr_decay, "0 or more");
  check_value(options.epsilon >= 0, "Adagrad", "epsilon", options.epsilon, "0 or more");
  check_value(options.weight_decay >= 0, "Adagrad", "weight_decay", options.weight_decay, "0 or more");
  check_value(options.initial_accumulator >= 0, "Adagrad", "initial_accumulator", options.initial_accumulator,
              "0 or more");
}

void Adagrad::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const double decay = state.decay(options_.weight_decay);
  const double rate = lr() / (1 + static_cast<double>(state.steps - 1) * options_.lr_decay);
  const auto rule = [&]<class T>(T& theta, T g, T& s) {
    g += static_cast<T>(decay) * theta;
    s += g * g;
    theta -= static_cast<T>(rate) * g / (std::sqrt(s) + static_cast<T>(options_.epsilon));
  };
  update_elements<1>(parameter, gradient, state.slots, rule);
}

}  // namespace heed::optim
