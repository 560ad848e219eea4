// Matrix products on one thread: at the shapes of a training step, in every form, as a share of the
// peak rate of fused multiply-adds; few rows, as decoding has them, as a share of the rate at which one
// thread reads. HEED_PRODUCTS=blas measures BLAS in their place.
#include <algorithm>
#include <cstdint>

#include <benchmark/benchmark.h>

#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/matmul.h>
#include <heed/ops/transpose.h>

#include "ceiling.h"

using namespace heed;

namespace {

// A factor whose rows, or whose columns, lie together.
Tensor factor(std::int64_t rows, std::int64_t columns, bool as_columns, DType dtype, Generator& generator) {
  return as_columns ? transpose(randn({columns, rows}, generator, dtype))
                    : randn({rows, columns}, generator, dtype);
}

// A [m, k] times B [k, n]; `a` and `b`: whether its columns lie together.
void product(benchmark::State& state, DType dtype) {
  set_num_threads(1);
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Generator generator(1);
  const Tensor a = factor(m, k, state.range(3) != 0, dtype, generator);
  const Tensor b = factor(k, n, state.range(4) != 0, dtype, generator);
  bench::PeakBeside beside;
  for (auto _ : state) {
    benchmark::DoNotOptimize(matmul(a, b));
    beside.between(state);
  }
  const double peak = beside.gflops() / (dtype == DType::f64 ? 2 : 1);
  const double flop = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                      static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flop, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(flop / peak, benchmark::Counter::kIsRate);
}

// Tokens by inputs by outputs of the linear layers of nano, of 10.7 M parameters and of GPT-2: forward
// (x Wᵀ), gradient of the input (dy W), gradient of the weight (dyᵀ x), and both factors as columns.
void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k", "a", "b"})->Unit(benchmark::kMicrosecond);
  const std::int64_t layers[][3] = {{768, 384, 128},   {768, 128, 128},   {768, 512, 128},  {768, 128, 512},
                                    {768, 65, 128},    {2048, 1152, 384}, {2048, 384, 384}, {2048, 1536, 384},
                                    {2048, 384, 1536}, {1024, 2304, 768}, {1024, 768, 768}, {1024, 3072, 768},
                                    {1024, 768, 3072}};
  for (const auto& [tokens, outputs, inputs] : layers) {
    b->Args({tokens, outputs, inputs, 0, 1});
    b->Args({tokens, inputs, outputs, 0, 0});
    b->Args({outputs, inputs, tokens, 1, 0});
    b->Args({outputs, inputs, tokens, 1, 1});
  }
}

// Few rows times a matrix of 1 GiB. `of_bound` is the share of min(rate of reading × intensity, peak).
void few_rows(benchmark::State& state) {
  set_num_threads(1);
  constexpr std::int64_t k = 4096, n = 65536;
  const std::int64_t m = state.range(0);
  Generator generator(1);
  const Tensor a = randn({m, k}, generator);
  const Tensor b = factor(k, n, state.range(1) != 0, DType::f32, generator);
  const double bytes = 4.0 * static_cast<double>(k * n);
  const double flop = 2.0 * static_cast<double>(m * k * n);
  const double bound = std::min(
      bench::read_rate(b.data<float>(), static_cast<std::size_t>(k * n)) * flop / bytes, bench::fma_peak());
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b));
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(rounds * bytes * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_bound"] = benchmark::Counter(rounds * flop * 1e-9 / bound, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(product, f32, DType::f32)->Apply(shapes);
BENCHMARK_CAPTURE(product, f64, DType::f64)->Apply(shapes);
BENCHMARK(few_rows)
    ->ArgNames({"rows", "columns_together"})
    ->ArgsProduct({{1, 2, 4, 8}, {1, 0}})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
