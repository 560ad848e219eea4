#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/app/run/monitor.h>
#include <heed/app/run/probe.h>
#include <heed/app/run/sample.h>
#include <heed/app/run/summary.h>
#include <heed/app/run/text_data.h>
#include <heed/app/run/training_run.h>
#include <heed/app/settings/train_flags.h>
#include <heed/app/threads.h>
#include <heed/check/model_gradcheck.h>
#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/train/interrupt.h>

namespace heed::app {
namespace {

using heed::train::distributed::World;

constexpr std::int64_t sample_length = 160;  // tokens of the samples in the log
constexpr int signal_status = 128;           // what shells add a signal's number to

bool gradients_are_right(const heed::nn::CausalLM& model) {
  const check::ModelGradcheckResult result = check::gradcheck_model(model);
  say("gradients {}\n", result.report);
  return result.passed;
}

// A run writes over nothing that an earlier one left, but goes on from its checkpoints.
void check_unused(const TrainOptions& o, const train::CheckpointFolder& checkpoints) {
  if (o.out.empty()) return;
  if (!checkpoints.list().empty()) {
    if (o.resume) return;
    heed::fail<heed::ValueError>(
        "train", fmt::format("'{}' holds the checkpoints of a run", checkpoint_folder(o.out).string()), {},
        "--resume to go on with it, another --out, or an empty folder");
  }
  for (const char* name : {"model.safetensors", "config.json"}) {
    if (!std::filesystem::exists(o.out / name)) continue;
    heed::fail<heed::ValueError>(
        "train",
        fmt::format("'{}' holds a model, {}, and no checkpoints from which to go on", o.out.string(), name),
        {}, "another --out, or an empty folder");
  }
}

// Takes up the last checkpoint.
void begin(const TrainOptions& o, const train::CheckpointFolder& checkpoints, TrainingRun& run) {
  check_unused(o, checkpoints);
  if (!o.resume) return;
  const auto latest = checkpoints.latest([&](const std::string& problem) {
    if (!o.quiet) warn("heed: passed over: {}\n", problem);
  });
  if (latest) run.restore(*latest);
  say("resume    from step {}\n", run.step);
}

TrainOptions without_files(TrainOptions o) {
  o.out.clear();
  return o;
}

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

// A run on its way to its last step: what takes the steps, what watches them, and where they are kept.
class TrainLoop {
 public:
  // All of them must outlive it.
  TrainLoop(const TrainOptions& options, const TextData& text, TrainingRun& run,
            train::CheckpointFolder& checkpoints, const train::InterruptWatch& interrupt)
      : o_(options),
        text_(text),
        run_(run),
        checkpoints_(checkpoints),
        monitor_(options, header_of(run, text, sample_prompt(text)), run.step),
        probe_(run),
        interrupt_(interrupt) {
    if (!o_.out.empty()) heed::io::write_file(o_.out / "run.json", settings_json(o_) + "\n");
  }

  // Takes the remaining steps, then prints a sample and writes the files of the run. Returns the exit status.
  int to_end() {
    bool stopped = false;
    while (run_.step < o_.steps && !stopped) {
      take_step();
      std::optional<double> validation_loss;
      if (due(run_.step, o_.eval_every)) validation_loss = validate();
      if (validation_loss && run_.stopping) stopped = run_.stopping->observe(*validation_loss);
      const bool best = validation_loss && o_.checkpoint_every > 0;
      if (best || due(run_.step, o_.checkpoint_every)) keep(validation_loss);
      if (const std::int64_t signal = run_.world.largest(interrupt_.signal()); signal != 0) {
        stop(validation_loss);
        return signal_status + static_cast<int>(signal);
      }
    }
    if (stopped) {
      monitor_.end_line();
      say("stopped   after step {}: no better loss in {} looks\n", run_.step, o_.patience);
    }
    if (!monitor_.validated()) validate();
    return finish() ? 0 : 1;
  }

 private:
  void take_step() {
    const StepWatch watch = {.begin = [&] { probe_.begin_step(); },
                             .gradients_are_there = [&] { probe_.gradients_are_there(); }};
    monitor_.begin_step();
    monitor_.end_step(run_.train_step(watch),
                      [&](train::report::StepRecord& record) { probe_.end_step(record); });
  }

  double validate() {
    const optim::AveragedWeights weights(run_.average.get());
    return monitor_.evaluate([&] {
      const auto seed = static_cast<std::uint64_t>(o_.seed);
      return train::report::Evaluation{.step = run_.step,
                                       .loss = run_.judge(),
                                       .sample = write_sample(run_.model, text_, seed, sample_length)};
    });
  }

  // The checkpoint's file; none without --out, or where it could not be written, which is said.
  std::optional<std::string> save(std::optional<double> validation_loss, std::string_view then) {
    run_.world.check_equal(run_.parameters);
    if (o_.out.empty()) return std::nullopt;
    try {
      return checkpoints_.save(run_.checkpoint(validation_loss));
    } catch (const heed::IoError& error) {
      monitor_.end_line();
      warn("heed: step {} has no checkpoint: {}{}\n", run_.step, error.what(), then);
      return std::nullopt;
    }
  }

  // A full disk does not end a run whose weights are in memory.
  void keep(std::optional<double> validation_loss) {
    save(validation_loss, "; the run goes on and tries again at the next");
  }

  void stop(std::optional<double> validation_loss) {
    const auto saved = save(validation_loss, "");
    monitor_.end_line();
    monitor_.complete_log();
    const std::string where = saved ? "saved " + *saved : "saved nowhere";
    const std::string then =
        o_.out.empty() ? ", as there is no --out" : fmt::format("; to go on: {}", resume_command(o_.out));
    say("stopped   after step {}, {}{}\n", run_.step, where, then);
  }

  // False if a file could not be written, which is said.
  bool finish() {
    const bool logged = monitor_.complete_log();
    const optim::AveragedWeights weights(run_.average.get());
    const bool written = finish_run(o_, text_, run_.model, monitor_);
    if (!logged) warn("heed: the end of the log could not be written\n");
    return logged && written;
  }

  const TrainOptions& o_;
  const TextData& text_;
  TrainingRun& run_;
  train::CheckpointFolder& checkpoints_;
  RunMonitor monitor_;
  RunProbe probe_;
  const train::InterruptWatch& interrupt_;
};

int train_model(const TrainOptions& given, const World& world) {
  validate(given);
  const TrainOptions o = given.quiet ? without_files(given) : given;
  use_threads(o.threads);
  const TextData text = load_text(o);
  TrainingRun run(o, text, world);
  print_introduction(o, text, run);
  if (o.check && !world.all(gradients_are_right(run.model))) return 1;
  train::CheckpointFolder checkpoints(checkpoint_folder(given.out), o.keep);
  const train::InterruptWatch interrupt;  // before a line says that the run has begun
  begin(given, checkpoints, run);
  run.agree();
  return TrainLoop(o, text, run, checkpoints, interrupt).to_end();
}

}  // namespace

Action train_command(CLI::App& parser) {
  const auto o = std::make_shared<TrainOptions>();
  parser.add_option("--out", o->out, "Folder for the model, log.jsonl, run.json and report.html");
  parser.add_flag("--resume", o->resume, "Go on from the last checkpoint under --out");
  parser.add_flag("--check", o->check, "First compare the model's gradients with difference quotients");
  parser.add_flag("--json", o->json, "End with one line of JSON that sums the run up");
  add_setting_flags(parser, *o, true);
  return {.run =
              [o](const World& world) {
                o->quiet = world.rank() > 0;
                return train_model(*o, world);
              },
          .load_settings = [o] { load_settings(*o); }};
}

}  // namespace heed::app
