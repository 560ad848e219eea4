// One training step (forward, backward, clip, AdamW) of the two models that the peers' programs train, on random tokens.
#include <benchmark/benchmark.h>

#include <heed/core/allocator.h>
#include <heed/core/backward.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/train/adamw.h>
#include <heed/train/clip.h>

using namespace heed;

namespace {

struct Config {
  std::int64_t layers, heads, width, context, batch;
};

void train_step(benchmark::State& state, const Config& c) {
  set_num_threads(static_cast<int>(state.range(0)));
  constexpr std::int64_t vocabulary = 65;
  Generator generator(1);
  nn::CausalLM model({.vocab_size = vocabulary,
                      .context = c.context,
                      .num_layers = c.layers,
                      .num_heads = c.heads,
                      .embed_dim = c.width,
                      .bias = false},
                     generator);
  const auto parameters = model.named_parameters();
  train::AdamW optimizer(parameters, {.lr = 1e-4, .beta2 = 0.99, .weight_decay = 0.1});
  optimizer.decay_matrices_only();
  const Tensor tokens = randint(0, vocabulary, {c.batch, c.context}, generator);
  const Tensor targets = randint(0, vocabulary, {c.batch, c.context}, generator);
  reset_peak_bytes();
  for (auto _ : state) {
    backward(model.loss(tokens, targets));
    train::clip_grad_norm(parameters, 1.0);
    optimizer.step();
    optimizer.zero_grad();
  }
  // 6 operations a weight and token, and the open half of attention.
  const double tokens_a_step = static_cast<double>(c.batch * c.context);
  const double weights = static_cast<double>(12 * c.layers * c.width * c.width + vocabulary * c.width);
  const double flop =
      tokens_a_step * (6 * weights + 6.0 * static_cast<double>(c.context * c.width * c.layers));
  state.counters["GFLOP/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * flop * 1e-9, benchmark::Counter::kIsRate);
  state.counters["peak_MiB"] = static_cast<double>(memory_stats().peak) / (1 << 20);
}

void nano(benchmark::State& state) { train_step(state, {4, 4, 128, 64, 12}); }
void ten_million(benchmark::State& state) { train_step(state, {6, 6, 384, 256, 8}); }
BENCHMARK(nano)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ten_million)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
