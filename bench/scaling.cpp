#include "scaling.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/core/allocator.h>
#include <heed/core/parallel.h>
#include <heed/core/tape_ledger.h>

#include "training.h"

namespace heed::bench {
namespace {

struct Measured {
  double flop = 0;
  double seconds = 0;  // of the fastest of several steps
  // In MiB: the measured peak of all tensors, and its prediction: parameters, both moments and what
  // the tape saves.
  double peak = 0, ledger = 0;
};

Measured measure(const TrainingSize& size) {
  constexpr double mib = 1 << 20;
  TrainingStep step(size);
  step();  // the optimizer's moments exist from here on
  Measured result{step.flop(), 1e9, 0, 0};
  reset_peak_bytes();
  for (int i = 0; i < 12; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    result.seconds = std::min(
        result.seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  result.peak = static_cast<double>(memory_stats().peak) / mib;
  const auto before = static_cast<double>(memory_stats().live);
  const TapeLedger ledger;
  const Tensor loss = step.forward();
  double saved_parameters = 0;
  for (const auto& [name, parameter] : step.model().named_parameters()) {
    // The position embedding is the only matrix that no product saves.
    if (name.find("position") == std::string::npos)
      saved_parameters += 4.0 * static_cast<double>(parameter.numel());
  }
  result.ledger = (before + static_cast<double>(ledger.counts().unique_at_peak) - saved_parameters) / mib;
  return result;
}

}  // namespace

void print_scaling() {
  set_num_threads(1);
  const Measured base = measure(nano);
  std::vector<std::pair<const char*, TrainingSize>> sizes(4, {"", nano});
  sizes[0] = {"layers", nano}, sizes[0].second.layers *= 2;
  sizes[1] = {"width", nano}, sizes[1].second.width *= 2;
  sizes[2] = {"batch", nano}, sizes[2].second.batch *= 2;
  sizes[3] = {"context", nano}, sizes[3].second.context *= 2;
  fmt::print("{:<9}{:>9}{:>8}{:>12}{:>10}{:>11}{:>12}{:>11}{:>12}\n", "doubled", "GFLOP", "ms", "operations",
             "time", "deviation", "peak MiB", "ledger", "deviation");
  const auto row = [&](const char* name, const Measured& m) {
    const double operations = m.flop / base.flop, time = m.seconds / base.seconds;
    fmt::print("{:<9}{:>9.2f}{:>8.1f}{:>11.2f}x{:>9.2f}x{:>+10.1f}%{:>12.1f}{:>11.1f}{:>+11.1f}%\n", name,
               m.flop / 1e9, m.seconds * 1e3, operations, time, 100 * (time / operations - 1), m.peak,
               m.ledger, 100 * (m.ledger / m.peak - 1));
  };
  row("-", base);
  for (const auto& [name, size] : sizes) row(name, measure(size));
}

}  // namespace heed::bench
