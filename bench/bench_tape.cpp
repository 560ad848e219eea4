// The cost of the tape itself: one recorded operation on 4 elements in a chain, forward and backward,
// and its memory.
#include <benchmark/benchmark.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/node.h>
#include <heed/ops/arithmetic.h>

using namespace heed;

namespace {

constexpr int length = 100000;

Tensor chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = mul(y, x);
  return y;
}

void per_operation(benchmark::State& state) {
  state.counters["ns_per_op"] = benchmark::Counter(static_cast<double>(state.iterations()) * length * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void forward(benchmark::State& state) {
  const Tensor x = ones({4}).set_requires_grad();
  for (auto _ : state) {
    Tensor y = chain(x);
    state.PauseTiming();
    y = Tensor();
    state.ResumeTiming();
  }
  per_operation(state);
}
BENCHMARK(forward)->Unit(benchmark::kMillisecond);

void backward_and_release(benchmark::State& state) {
  const Tensor x = ones({4}).set_requires_grad();
  for (auto _ : state) {
    state.PauseTiming();
    Tensor y = chain(x);
    state.ResumeTiming();
    backward(y, {.cotangent = ones({4})});
    y = Tensor();
  }
  per_operation(state);
}
BENCHMARK(backward_and_release)->Unit(benchmark::kMillisecond);

void not_recorded(benchmark::State& state) {
  const Tensor x = ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(chain(x));
  per_operation(state);
}
BENCHMARK(not_recorded)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
