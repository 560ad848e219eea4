#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
};

/// Steps in units of the parameter (Zeiler, 2012). With gradient g (decay included):
///   v ← ρ v + (1−ρ) g²,   d = g √(s + ε) / √(v + ε),   s ← ρ s + (1−ρ) d²,   θ ← θ − lr d.
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(nn::NamedTensors parameters, const AdadeltaOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  AdadeltaOptions options_;
};

}  // namespace heed::optim
