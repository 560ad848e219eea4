#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/check/model_gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/parallel.h>
#include <heed/nn/causal_lm.h>
#include <heed/optim/adamw.h>
#include <heed/optim/clip.h>
#include <heed/text/tokenizer.h>
#include <heed/text/window_loader.h>
#include <heed/train/evaluate.h>

using heed::Generator;
using heed::Tensor;
using heed::nn::CausalLM;
namespace optim = heed::optim;
namespace text = heed::text;
namespace train = heed::train;
namespace check = heed::check;

namespace {

constexpr heed::nn::CausalLMOptions small = {
    .vocab_size = 4, .context = 8, .num_layers = 2, .num_heads = 2, .embed_dim = 16, .bias = false};

std::vector<std::int64_t> cycle(std::size_t n) {
  std::vector<std::int64_t> tokens(n);
  for (std::size_t i = 0; i < n; ++i) tokens[i] = static_cast<std::int64_t>(i % 4);
  return tokens;
}

struct Run {
  std::vector<double> losses;
  double validation;
};

Run run(int steps, double dropout = 0) {
  const auto tokens = cycle(400);
  Generator random(1);
  auto options = small;
  options.dropout = dropout;
  CausalLM model(options, random);
  const auto parameters = model.named_parameters();
  optim::AdamW optimizer(parameters, {.lr = 3e-3});
  optimizer.decay_matrices_only();
  const text::WindowLoader windows(tokens, {.context = 8, .batch = 4}, random);
  Run result;
  for (int step = 0; step < steps; ++step) {
    const text::Batch batch = windows.batch(step);
    const Tensor loss = model.loss(batch.inputs, batch.targets, &random);
    heed::backward(loss);
    optim::clip_grad_norm(parameters, 1.0);
    optimizer.step();
    optimizer.zero_grad();
    result.losses.push_back(heed::scalar_of(loss));
  }
  result.validation = train::mean_loss(model, text::WindowSequence(tokens, {.context = 8, .batch = 5}));
  CHECK(model.training());
  return result;
}

}  // namespace

TEST_CASE("a small model learns a cycle of four tokens") {
  const Run result = run(120);
  CHECK(result.losses.front() == Approx(std::log(4.0)).margin(0.1));  // near uniform at the start
  CHECK(result.losses.back() < 0.1);  // every token follows from the one before
  CHECK(result.validation < 0.1);
}

TEST_CASE("losses have the same bits for every thread count and run", "[report-36]") {
  const int threads = heed::num_threads();
  std::vector<std::vector<double>> losses;
  for (const int count : {1, 1, 2, 3}) {
    heed::set_num_threads(count);
    losses.push_back(run(20, 0.1).losses);
  }
  heed::set_num_threads(threads);
  for (const auto& other : losses) CHECK(other == losses[0]);
}

TEST_CASE("the mean loss weighs every token alike") {
  Generator random(1);
  CausalLM model(small, random);
  const auto tokens = cycle(57);  // seven windows: batches of 3, 3 and 1, or all at once
  const double parts = train::mean_loss(model, text::WindowSequence(tokens, {.context = 8, .batch = 3}));
  const double whole = train::mean_loss(model, text::WindowSequence(tokens, {.context = 8, .batch = 7}));
  CHECK(parts == Approx(whole).epsilon(1e-6));  // float32 sums in another order
}

TEST_CASE("every gradient of a two-layer model agrees with difference quotients") {
  for (const bool bias : {false, true}) {
    Generator random(3);
    auto options = small;
    options.bias = bias;
    options.embed_dim = 8;
    const CausalLM model(options, random);
    // 0 elements: all of them
    const auto result = check::gradcheck_model(model, {.elements = 0, .batch = 2});
    INFO(result.report);
    CHECK(result.passed);
    CHECK(result.elements == model.parameter_count());
    CHECK(result.directions == 5);
    CHECK(model.token.weight.dtype() == heed::DType::f32);
  }
}
