// heed's side of a comparison with other frameworks: `heed_suite SUITE` prints one JSON line for each
// result, under the names that the programs of the other frameworks use. Uses OMP_NUM_THREADS
// threads, or 1.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <heed/core/allocator.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/lm/generate.h>
#include <heed/nn/eval_mode.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>

#include "../training.h"

using namespace heed;

namespace {

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_seconds(int repeats, const std::function<void()>& run) {
  run();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) seconds.push_back(seconds_of(run));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print(nlohmann::json result) {
  result["peer"] = "heed";
  result["threads"] = num_threads();
  result["rss_mib"] = rss_mib();
  fmt::print("{}\n", result.dump());
}

void train_model(const char* config, const bench::TrainingSize& size, int steps) {
  bench::TrainingStep step(size);
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) seconds.push_back(seconds_of([&] { step(); }));
  std::sort(seconds.begin() + steps / 10, seconds.end());
  const double median = seconds[static_cast<std::size_t>((steps / 10 + steps) / 2)];
  print({{"bench", "train_lm"},
         {"config", config},
         {"ms_per_step", median * 1e3},
         {"gflops", step.flop() / median * 1e-9}});
}

void decode() {
  bench::TrainingSize size = bench::ten_million;
  size.context = 1024;
  Generator generator(1);
  nn::CausalLM model({.vocab_size = bench::vocabulary,
                      .context = size.context,
                      .num_layers = size.layers,
                      .num_heads = size.heads,
                      .embed_dim = size.width,
                      .bias = false},
                     generator);
  model.eval();
  constexpr std::int64_t count = 512;
  const std::vector<std::int64_t> prompt{0};
  const lm::SamplingOptions greedy{.temperature = 0};
  const double seconds = median_seconds(5, [&] { lm::generate(model, prompt, count, greedy, generator); });
  print({{"bench", "decode"}, {"impl", "kv_cache"}, {"tokens_per_s", count / seconds}});
}

void attention_case(std::int64_t batch, std::int64_t time) {
  Generator generator(1);
  const Shape shape{batch, 8, time, 64};
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(randn(shape, generator));
  const Tensor cotangent = randn(shape, generator);
  const AttentionOptions options{.mask = AttentionMask::causal()};
  const std::string name = fmt::format("{},8,{},64", batch, time);
  const auto forward = [&] { return attention(inputs[0], inputs[1], inputs[2], options).output; };
  print({{"bench", "attn_fwd"}, {"shape", name}, {"ms", 1e3 * median_seconds(7, [&] { forward(); })}});
  for (Tensor& x : inputs) x.set_requires_grad();
  const double both = median_seconds(7, [&] {
    const Tensor y = forward();
    grad(std::span(&y, 1), inputs, {.grad_outputs = {cotangent}});
  });
  print({{"bench", "attn_fwdbwd"}, {"shape", name}, {"ms", 1e3 * both}});
}

void elementwise_case(const char* name, const Shape& shape, const std::function<Tensor(const Tensor&)>& run) {
  Generator generator(1);
  const Tensor x = randn(shape, generator);
  print({{"bench", fmt::format("{}_fwd", name)}, {"ms", 1e3 * median_seconds(9, [&] { run(x); })}});
}

void cross_entropy_case() {
  Generator generator(1);
  Tensor logits = randn({8192, 50304}, generator).set_requires_grad();
  const Tensor targets = randint(0, 50304, {8192}, generator);
  const double seconds = median_seconds(3, [&] {
    logits.zero_grad();
    backward(cross_entropy(logits, targets));
  });
  print({{"bench", "cross_entropy_fwd_bwd_8192x50304"}, {"ms", 1e3 * seconds}});
}

void adamw_case() {
  Tensor parameter = zeros({100'000'000}).set_requires_grad();
  parameter.set_grad(full({100'000'000}, 1e-3));
  heed::optim::AdamW optimizer({{"p", parameter}}, {.lr = 1e-3, .beta2 = 0.99, .weight_decay = 0.1});
  print({{"bench", "adamw_100M"}, {"ms", 1e3 * median_seconds(5, [&] { optimizer.step(); })}});
}

void elementwise() {
  elementwise_case("softmax_4096x1024", {4096, 1024}, [](const Tensor& x) { return softmax(x); });
  const Tensor gain = ones({768}), bias = zeros({768});
  elementwise_case("layernorm_8192x768", {8192, 768},
                   [&](const Tensor& x) { return layer_norm(x, {768}, gain, bias); });
  elementwise_case("gelu_erf_8192x3072", {8192, 3072}, [](const Tensor& x) { return gelu(x); });
  elementwise_case("gelu_tanh_8192x3072", {8192, 3072}, [](const Tensor& x) { return gelu(x, Gelu::tanh); });
  cross_entropy_case();
  adamw_case();
}

// A chain of multiplications and additions on 4 elements.
void overhead() {
  constexpr int count = 100'000;
  const auto chain = [](Tensor x, const Tensor& w, const Tensor& b) {
    for (int i = 0; i < count / 2; ++i) x = add(mul(x, w), b);
    return x;
  };
  std::vector<double> forward, back;
  double tape_bytes = 0;
  for (int i = 0; i < 5; ++i) {
    const Tensor x = ones({4}).set_requires_grad();
    const Tensor w = full({4}, 0.9999).set_requires_grad(), b = full({4}, 1e-4).set_requires_grad();
    const double before = rss_mib();
    Tensor y;
    forward.push_back(seconds_of([&] { y = chain(x, w, b); }));
    if (i == 0) tape_bytes = (rss_mib() - before) * 1048576 / count;
    back.push_back(seconds_of([&] { backward(sum(y)); }));
  }
  std::sort(forward.begin(), forward.end());
  std::sort(back.begin(), back.end());
  print({{"bench", "op_overhead"},
         {"fwd_ns", forward[2] * 1e9 / count},
         {"bwd_ns", back[2] * 1e9 / count},
         {"tape_bytes_per_op", tape_bytes}});
}

}  // namespace

int main(int argc, char** argv) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  set_num_threads(threads != nullptr ? std::max(1, std::atoi(threads)) : 1);
  const std::map<std::string, std::function<void()>> suites{
      {"train", [] { train_model("small", bench::nano, 150); }},
      {"train-big", [] { train_model("big", bench::ten_million, 15); }},
      {"decode", decode},
      {"attention",
       [] {
         attention_case(4, 256);
         attention_case(4, 1024);
         attention_case(1, 4096);
       }},
      {"elementwise", elementwise},
      {"overhead", overhead}};
  const auto suite = argc == 2 ? suites.find(argv[1]) : suites.end();
  if (suite == suites.end()) {
    fmt::print(stderr, "usage: heed_suite train|train-big|decode|attention|elementwise|overhead\n");
    return 2;
  }
  suite->second();
}
