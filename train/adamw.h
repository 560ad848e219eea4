#pragma once

#include <cstdint>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/nn/module.h>

namespace heed::train {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};

/// Parameters that are stepped with the same options.
struct AdamWGroup {
  nn::NamedTensors parameters;
  AdamWOptions options = {};
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019). With gradient g, t from 1:
///   m ← β1 m + (1−β1) g,   v ← β2 v + (1−β2) g²,
///   θ ← θ (1 − lr λ) − lr (m / (1−β1ᵗ)) / (√(v / (1−β2ᵗ)) + ε).
/// A parameter without a gradient is skipped, its decay and its t too. Throws    ValueError (an option
/// outside its range, a parameter given twice), GradError (a parameter that is no leaf requiring grad).
class AdamW {
 public:
  explicit AdamW(std::vector<AdamWGroup> groups);
  explicit AdamW(nn::NamedTensors parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<AdamWGroup>{{std::move(parameters), options}}) {}

  /// One update of every parameter that has a gradient, in place.
  void step();
  /// Drops all gradients.
  void zero_grad();
  /// The learning rate of every group from now on.
  void set_lr(double lr);

  const std::vector<AdamWGroup>& groups() const { return groups_; }

 private:
  struct Moments {
    Tensor first;   // m
    Tensor second;  // v
    std::int64_t steps = 0;
  };

  std::vector<AdamWGroup> groups_;
  std::vector<std::vector<Moments>> moments_;  // a list for each group
};

/// Two groups: tensors of two or more axes, which decay, and the others (biases, gains), which do not.
std::vector<AdamWGroup> decay_matrices_only(const nn::NamedTensors& parameters, const AdamWOptions& options);

}  // namespace heed::train
