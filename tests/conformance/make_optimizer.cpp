#include "make_optimizer.h"

#include <memory>

#include <heed/optim/adadelta.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/adam.h>
#include <heed/optim/adamw.h>
#include <heed/optim/nadam.h>
#include <heed/optim/radam.h>
#include <heed/optim/rmsprop.h>
#include <heed/optim/sgd.h>

namespace heed::conformance {
namespace {

template <class Rule>
std::function<void()> stepper(std::shared_ptr<Rule> rule) {
  return [rule] { rule->step(); };
}

template <class Rule, class Options>
std::function<void()> made(const nn::NamedTensors& parameters, const Options& options) {
  return stepper(std::make_shared<Rule>(parameters, options));
}

struct Betas {
  double first, second;
};

Betas betas_of(const Attributes& a) {
  if (!a.has("betas")) return {0.9, 0.999};
  const std::vector<double> betas = a.reals("betas");
  if (betas.size() != 2) throw Skip("optimizer: betas is not a pair");
  return {betas[0], betas[1]};
}

std::function<void()> make_adam(const Attributes& a, const nn::NamedTensors& parameters, bool decoupled) {
  const Betas betas = betas_of(a);
  const double lr = a.real("lr", 1e-3);
  const double epsilon = a.real("eps", 1e-8);
  const double decay = a.real("weight_decay", decoupled ? 1e-2 : 0);
  const bool amsgrad = a.flag("amsgrad");
  if (decoupled && !amsgrad) {
    return made<optim::AdamW>(parameters, optim::AdamWOptions{lr, betas.first, betas.second, epsilon, decay});
  }
  return made<optim::Adam>(
      parameters, optim::AdamOptions{lr, betas.first, betas.second, epsilon, decay, amsgrad, decoupled});
}

std::function<void()> make_momentum_adam(const Attributes& a, const nn::NamedTensors& parameters,
                                         const std::string& name) {
  const Betas betas = betas_of(a);
  const double epsilon = a.real("eps", 1e-8);
  const double decay = a.real("weight_decay", 0);
  if (name == "radam") {
    return made<optim::RAdam>(
        parameters, optim::RAdamOptions{a.real("lr", 1e-3), betas.first, betas.second, epsilon, decay});
  }
  return made<optim::NAdam>(parameters, optim::NAdamOptions{a.real("lr", 2e-3), betas.first, betas.second,
                                                            epsilon, decay, a.real("momentum_decay", 4e-3)});
}

}  // namespace

std::function<void()> make_optimizer(const Call& call, const nn::NamedTensors& parameters) {
  const Attributes& a = call.attributes;
  const std::string name = a.text("optimizer", "");
  if (a.flag("maximize")) throw Skip("optimizer: maximize is not known");
  if (name == "adam" || name == "adamw") return make_adam(a, parameters, name == "adamw");
  if (name == "nadam" || name == "radam") return make_momentum_adam(a, parameters, name);
  if (name == "sgd") {
    return made<optim::SGD>(parameters,
                            optim::SGDOptions{a.real("lr"), a.real("momentum", 0), a.real("dampening", 0),
                                              a.real("weight_decay", 0), a.flag("nesterov")});
  }
  if (name == "rmsprop") {
    return made<optim::RMSprop>(
        parameters,
        optim::RMSpropOptions{a.real("lr", 1e-2), a.real("alpha", 0.99), a.real("eps", 1e-8),
                              a.real("weight_decay", 0), a.real("momentum", 0), a.flag("centered")});
  }
  if (name == "adagrad") {
    return made<optim::Adagrad>(
        parameters, optim::AdagradOptions{a.real("lr", 1e-2), a.real("lr_decay", 0), a.real("eps", 1e-10),
                                          a.real("weight_decay", 0), a.real("initial_accumulator_value", 0)});
  }
  if (name == "adadelta") {
    return made<optim::Adadelta>(
        parameters, optim::AdadeltaOptions{a.real("lr", 1), a.real("rho", 0.9), a.real("eps", 1e-6),
                                           a.real("weight_decay", 0)});
  }
  throw Skip("optimizer '" + name + "' is not known");
}

}  // namespace heed::conformance
