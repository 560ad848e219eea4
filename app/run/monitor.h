#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <heed/app/settings/train_options.h>
#include <heed/train/report/jsonl_log.h>
#include <heed/train/report/progress.h>
#include <heed/train/report/run_log.h>

namespace heed::app {

/// Watches a run: the progress line, the log, the time of each step. What the log does not take on the way is
/// said on standard error and tried again with the next line: no run ends for its log.
class RunMonitor {
 public:
  /// Makes the folder of the options, if there is one. Its log begins anew; of a run that is resumed it keeps
  /// the first `steps_done` steps.
  /// Throws    IoError.
  RunMonitor(const TrainOptions& options, const heed::train::report::RunHeader& header,
             std::int64_t steps_done);

  void begin_step();
  /// Records a step. `measure` may add to the record; its time is not counted.
  void end_step(heed::train::report::StepRecord record,
                const std::function<void(heed::train::report::StepRecord&)>& measure);
  /// Runs and records an evaluation; its time is not counted.
  double evaluate(const std::function<heed::train::report::Evaluation()>& evaluation);
  void end_line() { progress_.end_line(); }
  /// Writes lines of the log that a full disk did not take before. Whether the log has all of them.
  bool complete_log();

  std::int64_t steps() const { return steps_; }
  /// Whether the last step was followed by an evaluation.
  bool validated() const;
  /// Of a step, without evaluation; 0 before the first.
  double median_milliseconds() const;
  /// Mean over the last hundred steps.
  double train_loss() const;
  double validation_loss() const { return record_.evaluations.back().loss; }

 private:
  using Clock = std::chrono::steady_clock;

  void write(const std::vector<heed::train::report::LogField>& line);
  void write_log(const std::function<void()>& attempt);

  std::int64_t tokens_per_step_;
  std::int64_t steps_;
  std::unique_ptr<heed::train::report::JsonlLog> log_;
  bool log_lags_ = false;  // lines are not in it yet, which was said
  heed::train::report::RunLog record_;
  heed::train::report::Progress progress_;
  Clock::time_point began_;
};

/// Largest resident size of this process so far.
double peak_rss_mib();

}  // namespace heed::app
