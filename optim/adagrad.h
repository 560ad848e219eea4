#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double epsilon = 1e-10;
  double weight_decay = 0;
  double initial_accumulator = 0;  // s before the first step
};

/// Steps scaled by the sum of squares so far (Duchi et al., 2011). With gradient g (decay
/// included), t from 1:
///   s ← s + g²,   θ ← θ − lr / (1 + (t−1) lr_decay) · g / (√s + ε).
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(nn::NamedTensors parameters, const AdagradOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  AdagradOptions options_;
};

}  // namespace heed::optim
