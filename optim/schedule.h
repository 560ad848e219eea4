#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace heed::optim {

/// The learning rate of a step, counted from 0. Any function will do; those below validate their options
/// (ValueError) and throw ValueError for a negative step.
using Schedule = std::function<double(std::int64_t step)>;

struct WarmupCosineOptions {
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t total = 2000;
};

/// lr(t) = lr (t+1) / (warmup+1)                                     for t < warmup,
///         min_lr + ½ (1 + cos π f) (lr − min_lr),
///         f = min(1, (t − warmup) / max(1, total − warmup))         from then on.
Schedule warmup_cosine(const WarmupCosineOptions& options);

struct WarmupStableDecayOptions {
  double lr = 1e-3;
  double min_lr = 0;
  std::int64_t warmup = 100;
  std::int64_t decay = 400;
  std::int64_t total = 2000;
};

/// lr(t) = lr (t+1) / (warmup+1)   for t < warmup,   lr   until total − decay, and from there along a line to
/// min_lr at t = total and ever after.
/// Throws    ValueError when warmup + decay is more than total.
Schedule warmup_stable_decay(const WarmupStableDecayOptions& options);

struct StepDecayOptions {
  double lr = 1e-3;
  std::int64_t step_size = 1;
  double gamma = 0.1;
};

/// lr(t) = lr γ^⌊t / step_size⌋
Schedule step_decay(const StepDecayOptions& options);

struct MultiStepDecayOptions {
  double lr = 1e-3;
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;
};

/// lr(t) = lr γ^k with k the number of milestones ≤ t; one that is listed twice counts twice.
Schedule multi_step_decay(const MultiStepDecayOptions& options);

struct LinearRampOptions {
  double lr = 1e-3;
  double start_factor = 1.0 / 3.0;
  double end_factor = 1.0;
  std::int64_t total = 5;
};

/// lr(t) = lr (start_factor + (end_factor − start_factor) min(t, total) / total)
Schedule linear_ramp(const LinearRampOptions& options);

struct ExponentialDecayOptions {
  double lr = 1e-3;
  double gamma = 0.99;
};

/// lr(t) = lr γ^t
Schedule exponential_decay(const ExponentialDecayOptions& options);

struct CosineAnnealingOptions {
  double lr = 1e-3;
  double min_lr = 0;
  std::int64_t half_period = 1000;
};

/// lr(t) = min_lr + ½ (1 + cos(π t / half_period)) (lr − min_lr); it rises again after half_period.
Schedule cosine_annealing(const CosineAnnealingOptions& options);

struct CosineRestartsOptions {
  double lr = 1e-3;
  double min_lr = 0;
  std::int64_t first_period = 100;
  std::int64_t period_factor = 1;
};

/// lr(t) = min_lr + ½ (1 + cos(π u / T)) (lr − min_lr), u the steps since the last restart and T the length
/// of this period: first_period, then period_factor times as long each time.
Schedule cosine_restarts(const CosineRestartsOptions& options);

struct OneCycleOptions {
  double max_lr = 1e-3;
  std::int64_t total = 1000;
  double rise_share = 0.3;
  double start_divisor = 25;
  double end_divisor = 1e4;
};

/// One cosine arc from max_lr / start_divisor up to max_lr, which it meets at t = rise_share · total − 1, and
/// one down to max_lr / (start_divisor · end_divisor) at t = total − 1.
/// Throws    ValueError for a step of total or more.
Schedule one_cycle(const OneCycleOptions& options);

}  // namespace heed::optim
