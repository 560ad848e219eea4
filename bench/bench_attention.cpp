// Causal attention in GFLOP/s, counted on the open half: 2·B·H·T²·D forward, 2.5 times that backward. The textbook form
// runs beside it in the same program.
#include <benchmark/benchmark.h>

#include <heed/core/backward.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/attention.h>
#include <heed/ops/scaled_dot_product_attention.h>

using namespace heed;

namespace {

struct Operands {
  Tensor q, k, v;
};

// Four heads of size 64; the batch keeps the work of every length alike.
Operands operands(const benchmark::State& state, bool grad) {
  const std::int64_t time = state.range(0);
  const std::int64_t batch = std::max<std::int64_t>(1, 4096 / time);
  set_num_threads(static_cast<int>(state.range(1)));
  Generator generator(1);
  const auto make = [&] { return randn({batch, 4, time, 64}, generator).set_requires_grad(grad); };
  return {make(), make(), make()};
}

void report(benchmark::State& state, const Tensor& q, double factor) {
  const double flop = 2.0 * static_cast<double>(q.numel()) * static_cast<double>(q.size(2)) * factor;
  state.counters["GFLOP/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * flop * 1e-9, benchmark::Counter::kIsRate);
}

void forward(benchmark::State& state) {
  const Operands x = operands(state, false);
  for (auto _ : state)
    benchmark::DoNotOptimize(attention(x.q, x.k, x.v, {.mask = AttentionMask::causal()}).output);
  report(state, x.q, 1);
}

void forward_and_backward(benchmark::State& state) {
  const Operands x = operands(state, true);
  Generator generator(2);
  const Tensor cotangent = randn(x.q.shape(), generator);
  for (auto _ : state) {
    backward(attention(x.q, x.k, x.v, {.mask = AttentionMask::causal()}).output, {.cotangent = cotangent});
  }
  report(state, x.q, 3.5);
}

void textbook_forward(benchmark::State& state) {
  const Operands x = operands(state, false);
  const Tensor open = AttentionMask::causal().open_pairs({1, 1, state.range(0), state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(scaled_dot_product_attention(x.q, x.k, x.v, open).output);
  report(state, x.q, 1);
}

void lengths(benchmark::internal::Benchmark* b) {
  b->ArgNames({"T", "threads"})->Unit(benchmark::kMillisecond)->ArgsProduct({{64, 256, 1024}, {1, 2}});
}
BENCHMARK(forward)->Apply(lengths);
BENCHMARK(forward_and_backward)->Apply(lengths);
BENCHMARK(textbook_forward)->Apply(lengths);

}  // namespace

BENCHMARK_MAIN();
