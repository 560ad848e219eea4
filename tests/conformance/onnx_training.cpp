#include <cmath>

#include <heed/ops/arithmetic.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/losses.h>
#include <heed/ops/power.h>
#include <heed/ops/softmax.h>

#include "onnx_common.h"
#include "reduction_of.h"
#include "tables.h"

namespace heed::conformance {
namespace {

CrossEntropyOptions class_options(const Call& call) {
  CrossEntropyOptions options;
  options.weight = call.at(2);
  options.ignore_index = call.attributes.integer("ignore_index", options.ignore_index);
  options.reduction = reduction_of(call);
  return options;
}

Tensors softmax_cross_entropy(const Call& call) {
  const Tensor loss = cross_entropy(call.at(0), call.at(1), class_options(call));
  if (call.outputs.size() < 2) return {loss};
  return {loss, log_softmax(call.at(0), 1)};
}

/// The optimizers' operands: rate R and step T, then n of each kind: all X, all
/// G, all of the first state, …. The results come in the same order: all new X,
/// all of the new states.
class Update {
 public:
  Update(const Call& call, std::size_t kinds) : call_(call), count_((call.inputs.size() - 2) / kinds) {}

  double rate() const { return number_of(call_.at(0)); }
  double step() const { return number_of(call_.at(1)); }
  std::size_t count() const { return count_; }
  Tensor operand(std::size_t kind, std::size_t i) const { return call_.at(2 + kind * count_ + i); }
  /// norm_coefficient · X + G
  Tensor gradient(std::size_t i) const {
    return add(mul(operand(0, i), call_.attributes.real("norm_coefficient", 0)), operand(1, i));
  }

 private:
  const Call& call_;
  std::size_t count_;
};

void append(Tensors& results, const Tensors& more) {
  results.insert(results.end(), more.begin(), more.end());
}

Tensors adagrad(const Call& call) {
  const Update update(call, 3);
  const double rate = update.rate() / (1 + update.step() * call.attributes.real("decay_factor", 0));
  const double epsilon = call.attributes.real("epsilon", 1e-6);
  Tensors parameters;
  Tensors squares;
  for (std::size_t i = 0; i < update.count(); ++i) {
    const Tensor g = update.gradient(i);
    squares.push_back(add(update.operand(2, i), square(g)));
    parameters.push_back(sub(update.operand(0, i), mul(div(g, add(sqrt(squares.back()), epsilon)), rate)));
  }
  append(parameters, squares);
  return parameters;
}

Tensors adam(const Call& call) {
  const Update update(call, 4);
  const double alpha = call.attributes.real("alpha", 0.9);
  const double beta = call.attributes.real("beta", 0.999);
  const double epsilon = call.attributes.real("epsilon", 1e-6);
  const double decay = call.attributes.real("norm_coefficient_post", 0);
  const double t = update.step();
  const double rate =
      t > 0 ? update.rate() * std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : update.rate();
  Tensors parameters;
  Tensors first;
  Tensors second;
  for (std::size_t i = 0; i < update.count(); ++i) {
    const Tensor g = update.gradient(i);
    first.push_back(add(mul(update.operand(2, i), alpha), mul(g, 1 - alpha)));
    second.push_back(add(mul(update.operand(3, i), beta), mul(square(g), 1 - beta)));
    const Tensor direction = div(first.back(), add(sqrt(second.back()), epsilon));
    parameters.push_back(mul(sub(update.operand(0, i), mul(direction, rate)), 1 - decay));
  }
  append(parameters, first);
  append(parameters, second);
  return parameters;
}

Tensors momentum(const Call& call) {
  const Update update(call, 3);
  const double alpha = call.attributes.real("alpha");
  const double beta = update.step() > 0 ? call.attributes.real("beta") : 1;
  (void)call.attributes.has("beta");
  const std::string mode = call.attributes.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") throw Skip("Momentum: mode '" + mode + "' is not known");
  Tensors parameters;
  Tensors velocities;
  for (std::size_t i = 0; i < update.count(); ++i) {
    const Tensor g = update.gradient(i);
    velocities.push_back(add(mul(update.operand(2, i), alpha), mul(g, beta)));
    const Tensor direction = mode == "standard" ? velocities.back() : add(g, mul(velocities.back(), alpha));
    parameters.push_back(sub(update.operand(0, i), mul(direction, update.rate())));
  }
  append(parameters, velocities);
  return parameters;
}

}  // namespace

void add_onnx_training(Table& table) {
  table["NegativeLogLikelihoodLoss"] = [](const Call& call) -> Tensors {
    return {nll_loss(call.at(0), call.at(1), class_options(call))};
  };
  table["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
  table["Adagrad"] = adagrad;
  table["Adam"] = adam;
  table["Momentum"] = momentum;
}

}  // namespace heed::conformance
