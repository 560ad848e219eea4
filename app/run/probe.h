#pragma once

#include <cstdint>
#include <optional>

#include <heed/app/run/training_run.h>
#include <heed/core/tape_clock.h>
#include <heed/core/tape_ledger.h>
#include <heed/train/report/run_log.h>

namespace heed::app {

/// What is measured while a run goes on, seldom enough not to slow it down: gradient norms by part of the
/// model and statistics of heads at the first step and about forty times more, time and memory of operations
/// in a few steps near the start.
class RunProbe {
 public:
  /// The run must outlive it.
  explicit RunProbe(TrainingRun& run);

  /// Before the forward of a step.
  void begin_step();
  /// After its backward, before the gradients are clipped.
  void gradients_are_there();
  /// After the step: adds what was measured.
  void end_step(heed::train::report::StepRecord& record);

 private:
  bool due() const;
  heed::train::report::HeadStatistics heads();
  std::vector<heed::train::report::OperationCost> profile() const;

  TrainingRun& run_;
  heed::text::Batch measured_;      // what the heads are measured on, always the same; without targets
  std::vector<double> part_norms_;  // empty unless this step is measured
  std::int64_t begun_ = 0;          // steps since the program started
  std::optional<heed::TapeLedger> ledger_;
  std::optional<heed::TapeClock> clock_;
};

/// What is known before the first step. `prompt` is what samples go on from.
heed::train::report::RunHeader header_of(const TrainingRun& run, const TextData& text,
                                         const std::string& prompt);

}  // namespace heed::app
