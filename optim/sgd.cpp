#include <heed/core/arguments.h>
#include <heed/optim/optimizer_loop.h>
#include <heed/optim/sgd.h>

namespace heed::optim {

SGD::SGD(nn::NamedTensors parameters, const SGDOptions& options)
    : Optimizer("SGD", std::move(parameters), options.lr, {{"velocity"}}), options_(options) {
  check_value(options.momentum >= 0, "SGD", "momentum", options.momentum, "0 or more");
  check_value(options.weight_decay >= 0, "SGD", "weight_decay", options.weight_decay, "0 or more");
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    fail<ValueError>("SGD", "nesterov", "", "momentum above 0 and no dampening");
  }
}

void SGD::update(Tensor& parameter, const Tensor& gradient, State& state) {
  const bool first = state.steps == 1;
  const double decay = state.decay(options_.weight_decay);
  update_elements<1>(parameter, gradient, state.slots, [&, rate = lr()]<class T>(T& theta, T g, T& u) {
    const T momentum = static_cast<T>(options_.momentum);
    g += static_cast<T>(decay) * theta;
    u = first ? g : momentum * u + static_cast<T>(1 - options_.dampening) * g;
    const T direction = options_.nesterov ? g + momentum * u : u;
    theta -= static_cast<T>(rate) * (momentum == 0 ? g : direction);
  });
}

}  // namespace heed::optim
