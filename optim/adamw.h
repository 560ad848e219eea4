#pragma once

#include <heed/optim/adam.h>

namespace heed::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019). With gradient g, t from 1:
///   m ← β1 m + (1−β1) g,   v ← β2 v + (1−β2) g²,
///   θ ← θ (1 − lr λ) − lr (m / (1−β1ᵗ)) / (√(v / (1−β2ᵗ)) + ε).
/// Throws    as Adam.
class AdamW final : public Adam {
 public:
  explicit AdamW(nn::NamedTensors parameters, const AdamWOptions& options = {});
};

}  // namespace heed::optim
