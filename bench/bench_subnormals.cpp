// Work on data that makes subnormal numbers, beside the same work on ordinary data: the ratio of the two
// times is what a cliff would be. One thread.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/optim/adadelta.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/adam.h>
#include <heed/optim/adamw.h>
#include <heed/optim/nadam.h>
#include <heed/optim/radam.h>
#include <heed/optim/rmsprop.h>
#include <heed/optim/sgd.h>

#include "training.h"

using namespace heed;

namespace {

// Causal, T = 2048, two heads of 32, forward and backward. Far keys with a slope, and saturated heads, have
// weights below the normal numbers.
void attention_case(benchmark::State& state, double factor, double slope) {
  set_num_threads(1);
  Generator generator(1);
  const auto make = [&](double scale) {
    return mul(randn({1, 2, 2048, 32}, generator), scale).detach().set_requires_grad();
  };
  const Tensor q = make(factor), k = make(factor), v = make(1), cotangent = randn(v.shape(), generator);
  AttentionOptions options{.mask = AttentionMask::causal()};
  if (slope != 0) options.mask = options.mask & AttentionMask::alibi(full({2}, slope, DType::f32));
  const std::vector<Tensor> inputs{q, k, v};
  for (auto _ : state) {
    const Tensor y = attention(q, k, v, options).output;
    benchmark::DoNotOptimize(grad(std::span(&y, 1), inputs, {.grad_outputs = {cotangent}}));
  }
}

void linear_case(benchmark::State& state, double weight) {
  set_num_threads(1);
  Generator generator(1);
  const Tensor x = randn({512, 512}, generator);
  const Tensor w = full({512, 512}, weight, DType::f32);
  for (auto _ : state) benchmark::DoNotOptimize(linear(x, w));
}

// A million elements whose moments have decayed over `steps` steps of zero gradient.
template <class Rule, class Options>
void optimizer_case(benchmark::State& state, Options options, int steps) {
  set_num_threads(1);
  Generator generator(1);
  Tensor w = randn({1 << 20}, generator).set_requires_grad();
  Rule rule({{"w", w}}, options);
  w.set_grad(randn(w.shape(), generator));
  rule.step();
  if (steps > 0) {
    w.set_grad(zeros(w.shape()));
    for (int i = 0; i < steps; ++i) rule.step();
  }
  for (auto _ : state) rule.step();
}

void nano_case(benchmark::State& state, double scale) {
  set_num_threads(1);
  bench::TrainingStep step(bench::nano);
  {
    const NoGrad guard;
    for (const auto& [path, parameter] : step.model().named_parameters()) {
      if (parameter.rank() == 2 && path.find("mlp") != std::string::npos) {
        Tensor(parameter).copy_(mul(parameter, scale));
      }
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(step.forward());
}

BENCHMARK_CAPTURE(attention_case, ordinary, 1, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention_case, slope, 1, 0.1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention_case, saturated, 6, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linear_case, ordinary, 0.1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(linear_case, subnormal, 1e-40)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(nano_case, ordinary, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(nano_case, subnormal, 1e-39)->Unit(benchmark::kMillisecond);
#define HEED_BENCH_OPTIMIZER(name, ...)                                           \
  void name##_case(benchmark::State& state, int steps) {                          \
    optimizer_case<optim::name>(state, optim::name##Options{__VA_ARGS__}, steps); \
  }                                                                               \
  BENCHMARK_CAPTURE(name##_case, ordinary, 0)->Unit(benchmark::kMillisecond);     \
  BENCHMARK_CAPTURE(name##_case, after_1000_zeros, 1000)->Unit(benchmark::kMillisecond)
HEED_BENCH_OPTIMIZER(SGD, .momentum = 0.9);
HEED_BENCH_OPTIMIZER(Adam);
HEED_BENCH_OPTIMIZER(AdamW);
HEED_BENCH_OPTIMIZER(NAdam);
HEED_BENCH_OPTIMIZER(RAdam);
HEED_BENCH_OPTIMIZER(RMSprop);
HEED_BENCH_OPTIMIZER(Adagrad);
HEED_BENCH_OPTIMIZER(Adadelta);

}  // namespace

BENCHMARK_MAIN();
