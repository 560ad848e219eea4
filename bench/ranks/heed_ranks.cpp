// Measures what the reduction of gradients costs a training step, and how much of it the backward hides. To
// be run by mpirun:
//   heed_ranks [--model nano|10m] [--rounds N] [--bucket MIB] [--batch B]
// Each round takes three steps: one without a reduction, one with a reduction after the backward, and one
// with a reduction during it. Differences are taken within a round, so that a machine whose speed drifts
// from round to round does not affect them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/parallel.h>
#include <heed/train/distributed/gradient_reducer.h>

#include "../training.h"

namespace {

using heed::bench::TrainingStep;
using heed::train::distributed::GradientReducer;
using heed::train::distributed::World;

struct Options {
  heed::bench::TrainingSize model = heed::bench::ten_million;
  int rounds = 15;
  std::int64_t bucket = 1;  // MiB
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--model" && value == "nano") options.model = heed::bench::nano;
    if (flag == "--rounds") options.rounds = std::stoi(value);
    if (flag == "--bucket") options.bucket = std::stoll(value);
    if (flag == "--batch") options.model.batch = std::stoll(value);
  }
  return options;
}

double seconds_of_step(TrainingStep& step, GradientReducer* reducer, const World& world) {
  world.sum(1.0);  // all ranks begin together
  const auto begin = std::chrono::steady_clock::now();
  const heed::Tensor loss = step.forward();
  if (reducer != nullptr) reducer->begin();
  heed::backward(loss);
  if (reducer != nullptr) reducer->finish();
  step.update();
  world.sum(1.0);  // all ranks wait for the slowest
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The cost of summing one number over all ranks.
double seconds_of_sum(const World& world) {
  constexpr int times = 500;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) world.sum(1.0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / times;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void report(const char* name, const std::vector<double>& seconds) {
  fmt::print("{:<28} {:8.1f} ms  ({:.1f} to {:.1f})\n", name, 1e3 * median(seconds),
             1e3 * *std::min_element(seconds.begin(), seconds.end()),
             1e3 * *std::max_element(seconds.begin(), seconds.end()));
}

}  // namespace

int main(int argc, char** argv) {
  const World world;
  const Options options = parse(argc, argv);
  TrainingStep step(options.model);
  const auto parameters = step.model().named_parameters();
  world.broadcast(parameters);
  const std::int64_t bytes = options.bucket << 20;
  GradientReducer after(parameters, world, {.bucket_bytes = bytes, .overlap = false});
  GradientReducer during(parameters, world, {.bucket_bytes = bytes});
  for (GradientReducer* reducer : {&after, &during})
    seconds_of_step(step, reducer, world);  // warms the caches

  std::vector<double> none, blocking, overlapped;
  for (int round = 0; round < options.rounds; ++round) {
    none.push_back(seconds_of_step(step, nullptr, world));
    blocking.push_back(seconds_of_step(step, &after, world));
    overlapped.push_back(seconds_of_step(step, &during, world));
  }
  const double sum = seconds_of_sum(world);
  if (world.rank() > 0) return 0;
  fmt::print("{} ranks of {} threads, {} parameters, batch {} a rank, buckets of {} MiB, medians of {}\n",
             world.size(), heed::num_threads(), step.model().parameter_count(), options.model.batch,
             options.bucket, options.rounds);
  report("step without reduction", none);
  report("reduction after backward", blocking);
  report("reduction during backward", overlapped);
  fmt::print("{:<28} {:8.0f} µs\n", "a sum of one number", 1e6 * sum);
  std::vector<double> cost, hidden;
  for (std::size_t i = 0; i < none.size(); ++i) {
    cost.push_back(blocking[i] - none[i]);
    hidden.push_back(blocking[i] - overlapped[i]);
  }
  report("the reduction takes", cost);
  report("the backward hides of it", hidden);
  fmt::print("hidden: {:.0f} %\n", 100 * median(hidden) / median(cost));
}
