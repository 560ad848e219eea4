// One process that trains, saves, resumes, validates and writes, over and over: HEED_SOAK_MINUTES of it, else
// a few seconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/app/run/sample.h>
#include <heed/app/run/text_data.h>
#include <heed/app/run/trace.h>
#include <heed/app/run/training_run.h>
#include <heed/core/allocator.h>
#include <heed/core/node.h>
#include <heed/tests/app/folder.h>
#include <heed/tests/support/resident.h>
#include <heed/train/checkpoint.h>

namespace {

using heed::test::resident_bytes;
using heed::test::sanitized;
using Clock = std::chrono::steady_clock;

constexpr std::size_t warm_up = 5;  // cycles until caches, pools and threads are what they will be
// From 1000 cycles on, less than half a KiB a cycle of 12 steps: not one leaked node of a tape. What the test
// itself keeps is 8 bytes a cycle.
constexpr std::int64_t most_growth = 1 << 20;
// A frequency that changes, and neighbours in the shared caches, are worth 10 to 20 %.
constexpr double most_slowdown = 1.25;
// Shorter, a tenth of the cycles is no fair sample of what the machine does besides.
constexpr double fair_minutes = 10;

double soak_minutes() {
  const char* const minutes = std::getenv("HEED_SOAK_MINUTES");
  return minutes == nullptr ? 0.05 : std::stod(minutes);
}

// Of all threads. Wall clocks tell of the machine's other work.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double minutes_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::ratio<60>>(Clock::now() - begin).count();
}

heed::app::TrainOptions options(const Folder& folder) {
  heed::app::TrainOptions o{.data = {folder / "text.txt"},
                            .layers = 2,
                            .heads = 2,
                            .embd = 32,
                            .context = 32,
                            .dropout = 0.1,
                            .batch = 6,
                            .accumulate = 2,
                            .steps = 12,
                            .warmup = 4,
                            .spike_factor = 10,
                            .ema = 0.9,
                            .patience = 3};
  heed::app::validate(o);
  return o;
}

// Everything a run does, from the text to what the model writes; the bits of it as one line.
std::string cycle(const Folder& folder, const heed::train::distributed::World& world) {
  const heed::app::TrainOptions o = options(folder);
  const heed::app::TextData text = heed::app::load_text(o);
  std::vector<heed::train::StepTrace> steps;
  auto run = std::make_unique<heed::app::TrainingRun>(o, text, world);
  heed::app::take_steps(*run, o.steps / 2, steps);
  const double half_way = run->judge();
  const auto saved = heed::train::CheckpointFolder(folder / "checkpoints").save(run->checkpoint(half_way));
  run = std::make_unique<heed::app::TrainingRun>(o, text, world);
  run->restore(heed::train::load_checkpoint(saved));
  heed::app::take_steps(*run, o.steps, steps);
  const heed::optim::AveragedWeights weights(run->average.get());
  // Longer than the context, so that the window slides.
  return fmt::format("{} {:a} {:a} {}", heed::app::hash_of(steps), half_way, run->judge(),
                     heed::app::write_sample(run->model, text, 1, o.context + 16));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void report(double minutes, const std::vector<double>& seconds) {
  fmt::print("{:6.1f} min  {:7} cycles  resident {:8.2f} MiB  last cycle {:.3f} CPU s\n", minutes,
             seconds.size(), static_cast<double>(resident_bytes()) / (1 << 20), seconds.back());
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("a process that trains on and on stays as it is") {
  const double minutes = soak_minutes();
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const heed::train::distributed::World world;
  const std::int64_t nodes = heed::tape_stats().live_nodes;
  const std::int64_t live = heed::memory_stats().live;
  std::string first;
  std::int64_t early = 0;
  std::vector<double> seconds;  // of the CPU, of every cycle
  const auto begin = Clock::now();
  double next_report = 1;
  while (seconds.size() < warm_up + 2 || minutes_since(begin) < minutes) {
    const double before = cpu_seconds();
    const std::string outcome = cycle(folder, world);
    seconds.push_back(cpu_seconds() - before);
    if (first.empty()) first = outcome;
    CAPTURE(seconds.size());
    REQUIRE(outcome == first);
    REQUIRE(heed::tape_stats().live_nodes == nodes);
    REQUIRE(heed::memory_stats().live == live);
    if (seconds.size() == warm_up) early = resident_bytes();
    if (const double now = minutes_since(begin); now >= next_report) {
      report(now, seconds);
      next_report += 1;
    }
  }
  report(minutes_since(begin), seconds);

  if (early == 0) WARN("no /proc/self/statm: resident memory is not looked at");
  if (early > 0 && !sanitized) CHECK(resident_bytes() - early < most_growth);
  if (minutes < fair_minutes) return;
  const auto tenth = static_cast<std::ptrdiff_t>(seconds.size() / 10);
  CHECK(median({seconds.end() - tenth, seconds.end()}) <
        most_slowdown * median({seconds.begin(), seconds.begin() + tenth}));
}
