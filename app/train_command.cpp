#include "train_command.h"

#include <cstdio>

#include <fmt/format.h>

#include <heed/check/model_gradcheck.h>
#include <heed/core/parallel.h>
#include <heed/io/atomic_file.h>
#include <heed/train/interrupt.h>

#include "run_monitor.h"
#include "run_probe.h"
#include "run_sample.h"
#include "run_summary.h"
#include "text_data.h"
#include "training_run.h"

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSampleLength = 160;  // tokens of the samples in the log
constexpr int kSignalStatus = 128;           // what shells add a signal's number to

bool gradients_are_right(const heed::nn::CausalLM& model) {
  const check::ModelGradcheckResult result = check::gradcheck_model(model);
  fmt::print("gradients {}\n", result.report);
  return result.passed;
}

// Takes up the last checkpoint, or sees to it that a new run does not write over an old one's.
void begin(const TrainOptions& o, const train::CheckpointFolder& checkpoints, const fs::path& folder,
           TrainingRun& run) {
  if (!o.resume) {
    if (o.out.empty() || checkpoints.list().empty()) return;
    heed::fail<heed::ValueError>("train", fmt::format("'{}' holds the checkpoints of a run", folder.string()),
                                 {}, "--resume to go on with it, another --out, or an empty folder");
  }
  const auto latest = checkpoints.latest([&](const std::string& problem) {
    if (!o.quiet) fmt::print(stderr, "heed: passed over: {}\n", problem);
  });
  if (latest) run.restore(*latest);
  fmt::print("resume    from step {}\n", run.step);
}

double validate_now(TrainingRun& run, const TextData& text, RunMonitor& monitor) {
  const optim::AveragedWeights weights(run.average.get());
  return monitor.evaluate([&] {
    return train::report::Evaluation{
        .step = run.step,
        .loss = run.judge(),
        .sample = write_sample(run.model, text, static_cast<std::uint64_t>(run.options.seed), kSampleLength)};
  });
}

TrainOptions without_files(TrainOptions o) {
  o.out.clear();
  return o;
}

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

int train_model(const TrainOptions& given, const train::distributed::World& world) {
  validate(given);
  const TrainOptions o = given.quiet ? without_files(given) : given;
  if (o.threads > 0) heed::set_num_threads(o.threads);
  const TextData text = load_text(o);
  TrainingRun run(o, text, world);
  print_introduction(o, text, run);
  if (o.check && !world.all(gradients_are_right(run.model))) return 1;

  const fs::path folder = given.out / "checkpoints";
  train::CheckpointFolder checkpoints(folder, o.keep);
  begin(given, checkpoints, folder, run);
  run.agree();
  RunMonitor monitor(o, header_of(run, text, sample_prompt(text)), run.step);
  RunProbe probe(run);
  if (!o.out.empty()) heed::io::write_file(o.out / "run.json", settings_json(o) + "\n");

  const StepWatch watch = {.begin = [&] { probe.begin_step(); },
                           .gradients_are_there = [&] { probe.gradients_are_there(); }};
  const auto save = [&](std::optional<double> validation_loss) {
    world.check_equal(run.parameters);
    return o.out.empty() ? std::string("nowhere, as there is no --out")
                         : checkpoints.save(run.checkpoint(validation_loss));
  };
  const train::InterruptWatch interrupt;
  bool stopped = false;
  while (run.step < o.steps && !stopped) {
    monitor.begin_step();
    monitor.end_step(run.train_step(watch),
                     [&](train::report::StepRecord& record) { probe.end_step(record); });

    std::optional<double> validation_loss;
    if (due(run.step, o.eval_every)) validation_loss = validate_now(run, text, monitor);
    if (validation_loss && run.stopping) stopped = run.stopping->observe(*validation_loss);
    const bool best = validation_loss && o.checkpoint_every > 0;
    if (best || due(run.step, o.checkpoint_every)) save(validation_loss);
    if (const std::int64_t signal = world.largest(interrupt.signal()); signal != 0) {
      monitor.end_line();
      fmt::print("stopped   after step {}, saved {}\n", run.step, save(validation_loss));
      return kSignalStatus + static_cast<int>(signal);
    }
  }
  if (stopped) {
    monitor.end_line();
    fmt::print("stopped   after step {}: no better loss in {} looks\n", run.step, o.patience);
  }
  if (!monitor.validated()) validate_now(run, text, monitor);
  const optim::AveragedWeights weights(run.average.get());
  finish_run(o, text, run.model, monitor);
  return 0;
}

}  // namespace heed::app
