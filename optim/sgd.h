#pragma once

#include <heed/optim/optimizer.h>

namespace heed::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// Gradient descent with momentum. With gradient g (decay included), velocity u, t from 1:
///   g ← g + λ θ,   u ← g at t = 1, then μ u + (1 − dampening) g,   θ ← θ − lr u;
/// Nesterov's form steps along g + μ u instead. Without momentum θ ← θ − lr g.
/// Throws    ValueError (an option outside its range, Nesterov without momentum or with dampening, a
///           parameter given twice), GradError (a parameter that is no leaf).
class SGD : public Optimizer {
 public:
  explicit SGD(nn::NamedTensors parameters, const SGDOptions& options = {});

 private:
  void update(Tensor& parameter, const Tensor& gradient, State& state) override;

  SGDOptions options_;
};

}  // namespace heed::optim
