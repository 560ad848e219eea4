#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <heed/train/jsonl_log.h>
#include <heed/train/line_chart.h>
#include <heed/train/progress.h>

#include "train_options.h"

namespace tiny_lm {

/// Watches a run: the progress line, the log, the time of each step, the curves of the report.
class RunMonitor {
 public:
  /// Makes the folder of the options, if there is one. Its log begins anew, or of a run that goes on keeps the first
  /// `steps_done` steps. Throws    IoError.
  RunMonitor(const TrainOptions& options, std::int64_t steps_done);

  void begin_step();
  void end_step(double loss, double lr);
  /// Runs and records an evaluation; its time is not counted.
  double evaluate(const std::function<double()>& validation_loss);
  void end_line() { progress_.end_line(); }

  std::int64_t steps() const { return steps_; }
  /// Whether the last step was followed by an evaluation.
  bool validated() const;
  /// Of a step, without evaluation; 0 before the first.
  double median_milliseconds() const;
  /// Mean over the last hundred steps.
  double train_loss() const;
  double validation_loss() const { return validation_curve_.back().value; }

  const std::vector<heed::train::CurvePoint>& train_curve() const { return train_curve_; }
  const std::vector<heed::train::CurvePoint>& validation_curve() const { return validation_curve_; }
  const std::vector<heed::train::CurvePoint>& lr_curve() const { return lr_curve_; }

 private:
  using Clock = std::chrono::steady_clock;

  void take_up(const std::string& line);

  std::int64_t tokens_per_step_;
  std::int64_t steps_;
  std::unique_ptr<heed::train::JsonlLog> log_;
  heed::train::Progress progress_;
  Clock::time_point began_;
  std::vector<double> milliseconds_;
  std::vector<heed::train::CurvePoint> train_curve_;
  std::vector<heed::train::CurvePoint> validation_curve_;
  std::vector<heed::train::CurvePoint> lr_curve_;
};

/// Largest resident size of this process so far.
double peak_rss_mib();

}  // namespace tiny_lm
