#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <heed/app/commands/commands.h>
#include <heed/app/output.h>
#include <heed/app/run/text_data.h>
#include <heed/app/run/trace.h>
#include <heed/app/run/training_run.h>
#include <heed/app/settings/train_flags.h>
#include <heed/core/parallel.h>
#include <heed/train/step_trace.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr int thread_counts[] = {1, 2, 4};

struct Pass {
  const char* name;
  bool interrupted;
};
constexpr Pass passes[] = {{"first", false}, {"again", false}, {"resumed", true}};

// A fresh folder for the checkpoint, gone at the end.
struct ScratchFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("heed_verify_{}", ::getpid());
  ScratchFolder() { fs::remove_all(path); }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
};

struct VerifiedRun {
  std::string name;
  std::vector<train::StepTrace> steps;
};

std::vector<train::StepTrace> trace(const TrainOptions& o, const TextData& text,
                                    const train::distributed::World& world, bool interrupted) {
  std::vector<train::StepTrace> steps;
  auto run = std::make_unique<TrainingRun>(o, text, world);
  if (interrupted) {
    take_steps(*run, o.steps / 2, steps);
    const ScratchFolder folder;
    const fs::path saved = train::CheckpointFolder(folder.path).save(run->checkpoint(std::nullopt));
    run = std::make_unique<TrainingRun>(o, text, world);
    run->restore(train::load_checkpoint(saved));
  }
  take_steps(*run, o.steps, steps);
  return steps;
}

// A width of 128 and 512 tokens a step: products are cut into panels, so that threads do share work.
TrainOptions defaults() {
  return {.layers = 1, .dropout = 0.1, .batch = 8, .steps = 50, .warmup = 5, .decay = 10};
}

int verify_training(TrainOptions o, const train::distributed::World& world) {
  o.checkpoint_every = 0;  // a file of settings may ask for it
  validate(o);
  const TextData text = load_text(o);
  say("verify    {} steps under 1, 2 and 4 threads\n", o.steps);
  std::optional<VerifiedRun> reference;
  for (const int threads : thread_counts) {
    heed::set_num_threads(threads);
    for (const Pass& pass : passes) {
      VerifiedRun run{fmt::format("{} threads, {}", threads, pass.name),
                      trace(o, text, world, pass.interrupted)};
      say("{:<20}  {}\n", run.name, hash_of(run.steps));
      if (!reference) {
        reference = std::move(run);
      } else if (const auto found = train::first_difference(reference->steps, run.steps)) {
        say("different from '{}' at step {}: {}\n", reference->name, found->step + 1, found->what);
        return 1;
      }
    }
  }
  say("equal\n");
  return 0;
}

}  // namespace

Action verify_command(CLI::App& parser) {
  const auto o = std::make_shared<TrainOptions>(defaults());
  add_setting_flags(parser, *o, false);
  return {.run = [o](const train::distributed::World& world) { return verify_training(*o, world); },
          .load_settings = [o] { load_settings(*o); }};
}

}  // namespace heed::app
