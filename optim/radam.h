#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

/// Adam with a rectified warm-up (Liu et al., 2020). With gradient g (decay included), t from 1, m and v as
/// in Adam, ρ_∞ = 2 / (1−β2) − 1, ρ_t = ρ_∞ − 2 t β2ᵗ / (1−β2ᵗ):
///   θ ← θ − lr (m / (1−β1ᵗ)) · R_t √(1−β2ᵗ) / (√v + ε)   where ρ_t > 5,
///   R_t² = (ρ_t − 4)(ρ_t − 2) ρ_∞ / ((ρ_∞ − 4)(ρ_∞ − 2) ρ_t);   θ ← θ − lr m / (1−β1ᵗ)   elsewhere.
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class RAdam : public Optimizer {
 public:
  explicit RAdam(nn::NamedTensors parameters, const RAdamOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  RAdamOptions options_;
};

}  // namespace heed::optim
