#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/nn/module.h>

namespace heed::train {

/// Base of the optimizers of one set of options: it owns the list of parameters and, for each, the tensors of
/// state that the rule keeps. A parameter without a gradient is skipped, its decay and its step count too.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that has a gradient, in place.
  void step();
  /// Drops all gradients.
  void zero_grad();
  /// The learning rate from now on. Throws    ValueError for a negative one.
  void set_lr(double lr);
  double lr() const { return lr_; }

 protected:
  /// What the rule remembers of one parameter, in the parameter's shape and dtype.
  struct State {
    std::vector<Tensor> slots;
    std::int64_t steps = 0;  ///< updates, the one under way included
  };

  /// `initial` holds the value that every slot of a new state is filled with. Throws    ValueError (a
  /// parameter given twice, lr < 0), GradError (a parameter that is no leaf requiring grad), DTypeError.
  Optimizer(std::string name, nn::NamedTensors parameters, double lr, std::vector<double> initial);

 private:
  /// The rule. `parameter` and `gradient` are row-major.
  virtual void update(Tensor& parameter, const Tensor& gradient, State& state) = 0;
  void prepare(State& state, const Tensor& parameter) const;

  std::string name_;
  nn::NamedTensors parameters_;
  std::vector<State> states_;  // one for each parameter
  std::vector<double> initial_;
  double lr_;
};

}  // namespace heed::train
