#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/nn/module.h>

namespace heed::optim {

/// Base of the optimizers: it owns the list of parameters and, for each, the tensors of state that the rule
/// keeps. A parameter without a gradient is skipped: no decay, and its step count stays. So is a frozen one,
/// `set_requires_grad(false)`, at any time: it goes on from its old value and state when it is trained again.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that has a gradient, in place.
  void step();
  /// Drops all gradients.
  void zero_grad();
  /// The learning rate from now on.
  /// Throws    ValueError for a negative one.
  void set_lr(double lr);
  double lr() const { return lr_; }
  /// From now on weight decay acts on tensors of two or more axes only, not on biases and gains.
  void decay_matrices_only();

  /// What the rule remembers, learning rate and options left out. For each parameter: tensors of its shape
  /// and dtype named `<parameter>.<name of the state>`, and an i64 scalar, `<parameter>.steps`. A parameter
  /// that was never stepped has none. The handles share their elements with the optimizer.
  nn::NamedTensors state_dict() const;
  /// Takes copies of what state_dict() gave, of an optimizer of the same kind and parameters. From here on
  /// both step alike.
  /// Throws    ValueError that lists every problem; nothing is changed then.
  void load_state_dict(const nn::NamedTensors& state);

 protected:
  /// One tensor that the rule keeps for each parameter, and what a new one is filled with.
  struct Slot {
    std::string name;
    double initial = 0;
  };

  /// What the rule remembers of one parameter: the slots, in the parameter's shape and dtype.
  struct State {
    std::vector<Tensor> slots = {};
    std::int64_t steps = 0;  ///< updates, the one under way included
    bool decays = true;

    double decay(double weight_decay) const { return decays ? weight_decay : 0; }
  };

  /// Throws    DTypeError, ValueError (a parameter given twice, lr < 0), GradError (a parameter that is the
  ///           result of an operation).
  Optimizer(std::string name, nn::NamedTensors parameters, double lr, std::vector<Slot> slots);

 private:
  /// The rule. `parameter` and `gradient` are row-major.
  virtual void update(Tensor& parameter, const Tensor& gradient, State& state) = 0;
  void prepare(State& state, const Tensor& parameter) const;

  std::string name_;
  nn::NamedTensors parameters_;
  std::vector<State> states_;  // one for each parameter
  std::vector<Slot> slots_;
  double lr_;
};

}  // namespace heed::optim
