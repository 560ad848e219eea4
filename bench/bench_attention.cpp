// Causal attention in GFLOP/s, counting only the pairs that the mask allows (about half): 2·B·H·T²·D
// operations forward and 2.5 times that backward. Also as a share of the peak rate of fused multiply-adds
// of the threads used, measured between the rounds. The textbook form is measured in the same program.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include <heed/core/allocator.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/compare.h>

#include "ceiling.h"

using namespace heed;

namespace {

constexpr std::int64_t heads = 8;
constexpr std::int64_t head_size = 64;

struct Operands {
  Tensor q, k, v, cotangent;
};

// The batch size keeps the work of a round about equal at every length.
Operands operands(std::int64_t time, bool grad, std::int64_t kv_heads = heads) {
  const std::int64_t batch = std::max<std::int64_t>(1, 4096 / time);
  Generator generator(1);
  const auto make = [&](std::int64_t h) {
    return randn({batch, h, time, head_size}, generator).set_requires_grad(grad);
  };
  return {make(heads), make(kv_heads), make(kv_heads), randn({batch, heads, time, head_size}, generator)};
}

// `open`: number of pairs of one head that the mask allows; each counts for two products of 2·D operations.
void report(benchmark::State& state, const Tensor& q, double open, double factor,
            const bench::PeakBeside& peak) {
  const double flop = 4.0 * static_cast<double>(q.size(0) * q.size(1) * q.size(3)) * open * factor;
  const double total = static_cast<double>(state.iterations()) * flop * 1e-9;
  state.counters["GFLOP/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  state.counters["of_peak"] =
      benchmark::Counter(total / (peak.gflops() * num_threads()), benchmark::Counter::kIsRate);
  state.counters["peak"] = peak.gflops();
}

double half(std::int64_t time) { return static_cast<double>(time) * static_cast<double>(time + 1) / 2; }

void run(benchmark::State& state, const AttentionOptions& options, bool both, std::int64_t kv_heads,
         double open) {
  bench::PeakBeside peak;
  const Operands x = operands(state.range(0), both, kv_heads);
  const std::vector<Tensor> inputs{x.q, x.k, x.v};
  for (auto _ : state) {
    const Tensor y = attention(x.q, x.k, x.v, options).output;
    if (both) benchmark::DoNotOptimize(grad(std::span(&y, 1), inputs, {.grad_outputs = {x.cotangent}}));
    benchmark::DoNotOptimize(y);
    peak.between(state);
  }
  report(state, x.q, open, both ? 3.5 : 1, peak);
}

void causal(benchmark::State& state, bool both) {
  set_num_threads(static_cast<int>(state.range(1)));
  run(state, {.mask = AttentionMask::causal()}, both, heads, half(state.range(0)));
}

void textbook(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(1)));
  bench::PeakBeside peak;
  const Operands x = operands(state.range(0), false);
  const Tensor open = AttentionMask::causal().open_pairs({1, 1, state.range(0), state.range(0)});
  for (auto _ : state) {
    benchmark::DoNotOptimize(scaled_dot_product_attention(x.q, x.k, x.v, open).output);
    peak.between(state);
  }
  report(state, x.q, half(state.range(0)), 1, peak);
}

// Options compared with plain causal attention, on one thread at T = 1024.
void option(benchmark::State& state, const char* name, bool both) {
  set_num_threads(1);
  const std::int64_t time = state.range(0);
  const double all = half(time);
  const std::string_view which = name;
  Generator generator(3);
  AttentionOptions options{.mask = AttentionMask::causal()};
  double open = all;
  std::int64_t kv_heads = heads;
  const std::int64_t batch = std::max<std::int64_t>(1, 4096 / time);
  if (which == "gqa") kv_heads = heads / 4;
  if (which == "window") {
    options.mask = AttentionMask::causal() & AttentionMask::window(255, 0);
    open = 256.0 * static_cast<double>(time) - 128.0 * 256;
  }
  if (which == "key_lengths") {
    options.mask =
        (options.mask & AttentionMask::key_lengths(full({batch}, time * 3 / 4, DType::i64))).query_start(0);
    open = all - half(time / 4);
  }
  if (which == "documents") {
    Tensor ids = zeros({time}, DType::i64);
    for (std::int64_t i = 0; i < time; ++i) ids.mutable_data<std::int64_t>()[i] = i / (time / 2);
    options.mask = options.mask & AttentionMask::documents(ids);
    open = 2 * half(time / 2);
  }
  if (which == "bool_mask")
    options.mask = options.mask & AttentionMask::attend(lt(rand({time, time}, generator), 0.9));
  if (which == "bias")
    options.mask = options.mask & AttentionMask::bias(randn({heads, time, time}, generator));
  if (which == "alibi") options.mask = options.mask & AttentionMask::alibi(full({heads}, 0.1));
  if (which == "softcap") options.softcap = 30;
  run(state, options, both, kv_heads, open);
}

// An attention window of 256 at growing lengths: the time per key should stay constant.
void window(benchmark::State& state) {
  set_num_threads(1);
  const std::int64_t time = state.range(0);
  Generator generator(1);
  const auto make = [&] { return randn({1, 1, time, head_size}, generator).set_requires_grad(); };
  const Tensor q = make(), k = make(), v = make();
  const Tensor cotangent = randn(q.shape(), generator);
  const AttentionOptions options{.mask = AttentionMask::causal() & AttentionMask::window(255, 0)};
  const std::vector<Tensor> inputs{q, k, v};
  for (auto _ : state) {
    const Tensor y = attention(q, k, v, options).output;
    benchmark::DoNotOptimize(grad(std::span(&y, 1), inputs, {.grad_outputs = {cotangent}}));
  }
  state.counters["ns/key"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(time) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// One query over a cache of keys, as in decoding: keys and values are read once.
void decode(benchmark::State& state) {
  set_num_threads(1);
  Generator generator(1);
  const Tensor q = randn({1, heads, 1, head_size}, generator);
  const Tensor k = randn({1, heads, state.range(0), head_size}, generator);
  const Tensor v = randn({1, heads, state.range(0), head_size}, generator);
  for (auto _ : state) benchmark::DoNotOptimize(attention(q, k, v, {.mask = AttentionMask::causal()}).output);
  state.SetBytesProcessed(state.iterations() * 2 * k.numel() * 4);
}

// The largest number of bytes in use beyond operands, results and gradients.
void memory(benchmark::State& state) {
  set_num_threads(1);
  const std::int64_t time = state.range(0);
  Generator generator(1);
  const auto make = [&] { return randn({1, 4, time, head_size}, generator).set_requires_grad(); };
  const Tensor q = make(), k = make(), v = make();
  const Tensor cotangent = randn(q.shape(), generator);
  double beyond = 0;
  for (auto _ : state) {
    for (const Tensor* x : {&q, &k, &v}) Tensor(*x).zero_grad();
    reset_peak_bytes();
    const double before = static_cast<double>(memory_stats().live);
    const Tensor y = attention(q, k, v, {.mask = AttentionMask::causal()}).output;
    backward(y, {.cotangent = cotangent});
    const double results = 4 * static_cast<double>(q.numel()) * 4;  // output and three gradients
    beyond = static_cast<double>(memory_stats().peak) - before - results;
  }
  state.counters["MiB_beyond"] = beyond / (1 << 20);
}

void lengths(benchmark::internal::Benchmark* b) {
  b->ArgNames({"T", "threads"})
      ->Unit(benchmark::kMillisecond)
      ->ArgsProduct({{64, 256, 1024, 4096}, {1, 2}})
      ->UseRealTime();
}
void length(benchmark::internal::Benchmark* b) { b->ArgName("T")->Arg(1024)->Unit(benchmark::kMillisecond); }

BENCHMARK_CAPTURE(causal, forward, false)->Apply(lengths);
BENCHMARK_CAPTURE(causal, forward_and_backward, true)->Apply(lengths);
BENCHMARK(textbook)
    ->ArgNames({"T", "threads"})
    ->Unit(benchmark::kMillisecond)
    ->ArgsProduct({{256, 1024}, {1, 2}})
    ->UseRealTime();
BENCHMARK(window)->ArgName("T")->RangeMultiplier(2)->Range(4096, 65536)->Unit(benchmark::kMillisecond);
BENCHMARK(decode)->ArgName("T")->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(memory)->ArgName("T")->Arg(16384)->Iterations(1)->Unit(benchmark::kMillisecond);
#define HEED_BENCH_OPTION(name)                                           \
  BENCHMARK_CAPTURE(option, name##_forward, #name, false)->Apply(length); \
  BENCHMARK_CAPTURE(option, name##_forward_and_backward, #name, true)->Apply(length)
HEED_BENCH_OPTION(plain);
HEED_BENCH_OPTION(gqa);
HEED_BENCH_OPTION(window);
HEED_BENCH_OPTION(key_lengths);
HEED_BENCH_OPTION(documents);
HEED_BENCH_OPTION(bool_mask);
HEED_BENCH_OPTION(bias);
HEED_BENCH_OPTION(alibi);
HEED_BENCH_OPTION(softcap);

}  // namespace

BENCHMARK_MAIN();
