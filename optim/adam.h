#pragma once

#include <string>

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool decoupled_decay = false;
};

/// Adam (Kingma and Ba, 2015). With gradient g (decay included unless it is decoupled), t from 1:
///   g ← g + λ θ,   m ← β1 m + (1−β1) g,   v ← β2 v + (1−β2) g²,
///   θ ← θ − lr (m / (1−β1ᵗ)) / (√(v / (1−β2ᵗ)) + ε).
/// AMSGrad uses the greatest v so far in place of v. Decoupled decay is AdamW's, θ ← θ (1 − lr λ) first.
/// State     first_moment m, second_moment v, and greatest_moment with amsgrad.
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class Adam : public Optimizer {
 public:
  explicit Adam(nn::NamedTensors parameters, const AdamOptions& options = {});

 protected:
  /// `name` is what messages call it.
  Adam(const std::string& name, nn::NamedTensors parameters, const AdamOptions& options);

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  AdamOptions options_;
};

}  // namespace heed::optim
