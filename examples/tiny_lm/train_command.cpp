#include "train_command.h"

#include <cstdio>

#include <fmt/format.h>

#include <heed/core/parallel.h>
#include <heed/io/atomic_file.h>
#include <heed/train/accumulate_gradients.h>
#include <heed/train/clip.h>
#include <heed/train/evaluate.h>
#include <heed/train/interrupt.h>
#include <heed/train/model_gradcheck.h>

#include "run_monitor.h"
#include "run_summary.h"
#include "text_data.h"
#include "training_run.h"

namespace tiny_lm {
namespace {

using namespace heed::train;
namespace fs = std::filesystem;

constexpr int kSignalStatus = 128;  // what shells add a signal's number to

bool gradients_are_right(const heed::nn::CausalLM& model) {
  const ModelGradcheckResult result = gradcheck_model(model);
  fmt::print("gradients {}\n", result.report);
  std::fflush(stdout);
  return result.passed;
}

// Takes up the last checkpoint, or sees to it that a new run does not write over an old one's.
void begin(const TrainOptions& o, const CheckpointFolder& checkpoints, const fs::path& folder,
           TrainingRun& run) {
  if (!o.resume) {
    if (o.out.empty() || checkpoints.list().empty()) return;
    heed::fail<heed::ValueError>("train", fmt::format("'{}' holds the checkpoints of a run", folder.string()),
                                 {}, "--resume to go on with it, another --out, or an empty folder");
  }
  const auto latest = checkpoints.latest(
      [](const std::string& problem) { fmt::print(stderr, "tiny_lm: passed over: {}\n", problem); });
  if (latest) run.restore(*latest);
  fmt::print("resume    from step {}\n", run.step);
}

// One step: gradients of a large batch, clipped, and the move along them unless it looks like an accident.
double train_step(const TrainOptions& o, TrainingRun& run) {
  const auto loss_of = [&](const Batch& batch) {
    return run.model.loss(batch.inputs, batch.targets, &run.random);
  };
  const double loss = accumulate_gradients(run.batches(run.step), loss_of).loss;
  const double longest = o.clip > 0 ? o.clip : INFINITY;
  const double norm = clip_grad_norm(run.parameters, longest, {.allow_nonfinite = run.guard.has_value()});
  if (!run.guard || run.guard->accepts(loss, norm)) {
    run.optimizer->set_lr(run.learning_rate(run.step));
    run.optimizer->step();
    if (run.average) run.average->update();
  }
  run.optimizer->zero_grad();
  ++run.step;
  return loss;
}

double validate_now(TrainingRun& run, RunMonitor& monitor) {
  const AveragedWeights weights(run.average.get());
  return monitor.evaluate([&] { return mean_loss(run.model, run.validation); });
}

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

int train_model(const TrainOptions& o) {
  validate(o);
  if (o.threads > 0) heed::set_num_threads(o.threads);
  const TextData text = load_text(o);
  TrainingRun run(o, text);
  print_introduction(o, text, run.model);
  if (o.check && !gradients_are_right(run.model)) return 1;

  const fs::path folder = o.out / "checkpoints";
  CheckpointFolder checkpoints(folder, o.keep);
  begin(o, checkpoints, folder, run);
  RunMonitor monitor(o, run.step);
  if (!o.out.empty()) heed::io::write_file(o.out / "run.json", settings_json(o) + "\n");

  const InterruptWatch interrupt;
  bool stopped = false;
  while (run.step < o.steps && !stopped) {
    monitor.begin_step();
    const double rate = run.learning_rate(run.step);
    monitor.end_step(train_step(o, run), rate);

    std::optional<double> validation_loss;
    if (due(run.step, o.eval_every)) validation_loss = validate_now(run, monitor);
    if (validation_loss && run.stopping) stopped = run.stopping->observe(*validation_loss);
    const bool best = validation_loss && o.checkpoint_every > 0;
    if (best || due(run.step, o.checkpoint_every)) checkpoints.save(run.checkpoint(validation_loss));
    if (interrupt.signal() != 0) {
      monitor.end_line();
      const std::string place = o.out.empty() ? "nowhere, as there is no --out"
                                              : checkpoints.save(run.checkpoint(validation_loss)).string();
      fmt::print("stopped   after step {}, saved {}\n", run.step, place);
      return kSignalStatus + interrupt.signal();
    }
  }
  if (stopped) {
    monitor.end_line();
    fmt::print("stopped   after step {}: no better loss in {} looks\n", run.step, o.patience);
  }
  if (!monitor.validated()) validate_now(run, monitor);
  const AveragedWeights weights(run.average.get());
  finish_run(o, text, run.model, monitor);
  return 0;
}

}  // namespace tiny_lm
