#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};

/// Steps scaled by a running mean of squares (Hinton, 2012). With gradient g (decay included):
///   v ← α v + (1−α) g²,   d = g / (√v + ε),   u ← μ u + d,   θ ← θ − lr u.
/// centered: v is the running variance, kept as v ← α (v + (1−α) (g − a)²), then a ← α a + (1−α) g. It is the
/// mean of squares less a² without their cancellation, and never negative.
/// Throws    ValueError (an option outside its range, a parameter given twice), GradError (a parameter that
///           is no leaf).
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(nn::NamedTensors parameters, const RMSpropOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  RMSpropOptions options_;
};

}  // namespace heed::optim
