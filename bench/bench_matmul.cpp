// Matrix products at the shapes of a training step, in GFLOP/s; the square ones show the best rate of the
// BLAS in the same run.
#include <benchmark/benchmark.h>

#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/transpose.h>

using namespace heed;

namespace {

void report(benchmark::State& state, double flop) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * flop * 1e-9, benchmark::Counter::kIsRate);
}

double flop_of(const benchmark::State& state) {
  return 2.0 * static_cast<double>(state.range(0)) * static_cast<double>(state.range(1)) *
         static_cast<double>(state.range(2));
}

// x [m, k] Wᵀ, W [n, k]: the forward of a linear layer.
void linear_forward(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(3)));
  Generator generator(1);
  const Tensor x = randn({state.range(0), state.range(2)}, generator);
  const Tensor w = randn({state.range(1), state.range(2)}, generator);
  for (auto _ : state) benchmark::DoNotOptimize(linear(x, w));
  report(state, flop_of(state));
}

// dyᵀ x: the gradient of the weight.
void weight_gradient(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(3)));
  Generator generator(1);
  const Tensor dy = randn({state.range(2), state.range(0)}, generator);
  const Tensor x = randn({state.range(2), state.range(1)}, generator);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(transpose(dy), x));
  report(state, flop_of(state));
}

void square(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(3)));
  Generator generator(1);
  const Tensor a = randn({state.range(0), state.range(2)}, generator);
  const Tensor b = randn({state.range(2), state.range(1)}, generator);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b));
  report(state, flop_of(state));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k", "threads"})->Unit(benchmark::kMicrosecond);
}

BENCHMARK(square)->Apply(shapes)->ArgsProduct({{1024}, {1024}, {1024}, {1, 2}});
BENCHMARK(linear_forward)
    ->Apply(shapes)
    ->ArgsProduct({{768}, {128, 384, 512}, {128}, {1, 2}})
    ->ArgsProduct({{768}, {128}, {512}, {1, 2}})
    ->ArgsProduct({{2048}, {384, 1152, 1536}, {384}, {1, 2}})
    ->ArgsProduct({{2048}, {384}, {1536}, {1, 2}});
BENCHMARK(weight_gradient)
    ->Apply(shapes)
    ->ArgsProduct({{128, 384, 512}, {128}, {768}, {1, 2}})
    ->ArgsProduct({{384, 1152, 1536}, {384}, {2048}, {1, 2}});
BENCHMARK(linear_forward)->Apply(shapes)->ArgsProduct({{1}, {1536}, {384}, {1}});

}  // namespace

BENCHMARK_MAIN();
