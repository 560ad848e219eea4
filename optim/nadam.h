#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;  // ψ
};

/// Adam with Nesterov momentum (Dozat, 2016). With gradient g (decay included), t from 1:
///   μ_t = β1 (1 − ½ · 0.96^(t ψ)),   P_t = μ_1 ⋯ μ_t,   m and v as in Adam,
///   θ ← θ − lr (g (1 − μ_t) / (1 − P_t) + m μ_{t+1} / (1 − P_{t+1})) / (√(v / (1−β2ᵗ)) + ε).
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class NAdam : public Optimizer {
 public:
  explicit NAdam(nn::NamedTensors parameters, const NAdamOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  NAdamOptions options_;
};

}  // namespace heed::optim
