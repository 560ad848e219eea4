#pragma once

#include <cstdint>
#include <limits>

#include <heed/nn/module.h>

namespace heed::optim {

/// Says when a loss has not fallen for too long.
/// Throws    ValueError when patience is below 1.
class EarlyStopping {
 public:
  explicit EarlyStopping(std::int64_t patience);

  /// True when neither this loss nor any of the patience − 1 before it was below the best one before them.
  /// NaN is never below.
  bool observe(double loss);
  double best() const { return best_; }

  nn::NamedTensors state_dict() const;
  /// Throws    ValueError that lists every problem; nothing is changed then.
  void load_state_dict(const nn::NamedTensors& state);

 private:
  std::int64_t patience_;
  std::int64_t waited_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

struct SpikeGuardOptions {
  double factor = 3;              // a spike is more than this times the running mean
  double memory = 0.98;           // the running mean m ← memory m + (1 − memory) x
  std::int64_t warmup = 20;       // steps accepted, if finite, before the mean is trusted
  std::int64_t most_in_row = 10;  // this many refusals in a row are no spike but an error
};

/// Refuses steps whose loss or gradient norm is not finite or stands far above its running mean. Refused ones
/// do not count in the means.
/// Throws    ValueError (factor not above 1, memory outside 0 … 1, counts negative or most_in_row 0).
class SpikeGuard {
 public:
  explicit SpikeGuard(const SpikeGuardOptions& options = {});

  /// Whether to take the step.
  /// Throws    GradError at the most_in_row-th refusal in a row.
  bool accepts(double loss, double gradient_norm);
  /// Steps refused so far.
  std::int64_t refused() const { return refused_; }

  nn::NamedTensors state_dict() const;
  /// Throws    ValueError that lists every problem; nothing is changed then.
  void load_state_dict(const nn::NamedTensors& state);

 private:
  bool is_spike(double value, double mean) const;

  SpikeGuardOptions options_;
  double mean_loss_ = 0;
  double mean_norm_ = 0;
  std::int64_t accepted_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t in_row_ = 0;
};

}  // namespace heed::optim
