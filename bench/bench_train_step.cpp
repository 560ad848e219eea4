// One training step (forward, backward, clipping, AdamW), on random tokens, of the two models that the
// programs of other frameworks train. With --profile: the time of a step by operation. With --scaling: how
// the time grows with the model.
#include <string_view>

#include <benchmark/benchmark.h>

#include <heed/core/allocator.h>
#include <heed/core/parallel.h>

#include "profile.h"
#include "scaling.h"
#include "training.h"

using namespace heed;

namespace {

void train_step(benchmark::State& state, const bench::TrainingSize& size) {
  set_num_threads(static_cast<int>(state.range(0)));
  bench::TrainingStep step(size);
  reset_peak_bytes();
  for (auto _ : state) step();
  state.counters["GFLOP/s"] = benchmark::Counter(static_cast<double>(state.iterations()) * step.flop() * 1e-9,
                                                 benchmark::Counter::kIsRate);
  state.counters["peak_MiB"] = static_cast<double>(memory_stats().peak) / (1 << 20);
}

void nano(benchmark::State& state) { train_step(state, bench::nano); }
void ten_million(benchmark::State& state) { train_step(state, bench::ten_million); }
BENCHMARK(nano)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ten_million)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--profile") {
    bench::print_profile("nano", bench::nano);
    bench::print_profile("10.7 M", bench::ten_million);
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--scaling") {
    bench::print_scaling();
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
