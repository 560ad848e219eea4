#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/optim/adamw.h>
#include <heed/optim/clip.h>
#include <heed/optim/schedule.h>
#include <heed/text/window_loader.h>
#include <heed/train/evaluate.h>
#include <heed/train/report/induction_scores.h>

using heed::text::CopyPlace;
using heed::text::InductionSource;
using heed::train::report::attention_on;

TEST_CASE("attention on the right places is summed over them and averaged over queries") {
  const heed::Tensor weights = heed::tensor(
      {1.f, 0.f, 0.f, .5f, .5f, 0.f, .25f, .5f, .25f, 1.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f},
      {2, 3, 3});
  const std::vector<CopyPlace> places = {{1, {0}}, {2, {0, 1}}};
  CHECK(attention_on(weights, places) == std::vector<double>{(0.5 + 0.75) / 2, 0.5});
  CHECK_THROWS_AS(attention_on(weights, {}), heed::ValueError);
  CHECK_THROWS_AS(attention_on(weights, std::vector<CopyPlace>{{3, {0}}}), heed::ShapeError);
}

TEST_CASE("a model without training has no induction head") {
  heed::Generator generator(1);
  heed::nn::CausalLM model(
      {.vocab_size = 256, .context = 32, .num_layers = 2, .num_heads = 2, .embed_dim = 16}, generator);
  const auto scores =
      heed::train::report::induction_scores(model, heed::text::ByteTokenizer(), InductionSource(), 8);
  REQUIRE(scores.size() == 2);
  for (const auto& heads : scores) {
    REQUIRE(heads.size() == 2);
    // Near uniform attention: about as much as the share of the right places, some in forty.
    for (const double score : heads) CHECK((score > 0 && score < 0.3));
  }
}

TEST_CASE("a small model that learns to copy has a head that looks at what is copied") {
  const InductionSource source({.keys = 3, .values = 8});
  constexpr std::int64_t context_size = 12;
  constexpr std::int64_t step_count = 600;
  const int threads = heed::num_threads();
  heed::set_num_threads(1);  // the work of a step is too small to share
  const heed::text::CharTokenizer tokenizer("abc01234567");
  const auto ids = tokenizer.encode(source.generate(20000, context_size + 1, 1));
  heed::Generator generator(1);
  heed::nn::CausalLM model({.vocab_size = tokenizer.vocab_size(),
                            .context = context_size,
                            .num_layers = 2,
                            .num_heads = 2,
                            .embed_dim = 32,
                            .bias = false},
                           generator);
  const auto parameters = model.named_parameters();
  heed::optim::AdamW optimizer(parameters, {.beta2 = 0.99, .weight_decay = 0});
  const heed::text::WindowLoader windows(
      ids, {.context = context_size, .batch = 16, .every = context_size + 1}, generator);
  const auto rate = heed::optim::warmup_stable_decay(
      {.lr = 0.01, .min_lr = 0.001, .warmup = 50, .decay = 150, .total = step_count});
  double loss = 0;
  for (std::int64_t step = 0; step < step_count; ++step) {
    const heed::Tensor mean = heed::train::batch_loss(model, windows.batch(step));
    heed::backward(mean);
    heed::optim::clip_grad_norm(parameters, 1.0);
    optimizer.set_lr(rate(step));
    optimizer.step();
    optimizer.zero_grad();
    loss = heed::scalar_of(mean);
  }
  double most = 0;
  for (const auto& heads : heed::train::report::induction_scores(model, tokenizer, source)) {
    most = std::max(most, *std::max_element(heads.begin(), heads.end()));
  }
  CAPTURE(loss, source.entropy_floor(context_size));
  CHECK(most >= 0.8);
  heed::set_num_threads(threads);
}
