#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/ops/slice.h>
#include <heed/train/generate.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::train::generate;
using heed::train::sample_token;
using Ids = std::vector<std::int64_t>;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

heed::nn::CausalLM small_model(std::int64_t context = 16) {
  Generator generator(1);
  heed::nn::CausalLM model(
      {.vocab_size = 11, .context = context, .num_layers = 1, .num_heads = 2, .embed_dim = 8}, generator);
  model.eval();
  return model;
}

std::vector<int> histogram(const Tensor& logits, const heed::train::SamplingOptions& options, int draws) {
  Generator generator(5);
  std::vector<int> counts(static_cast<std::size_t>(logits.numel()));
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<std::size_t>(sample_token(logits, options, generator))];
  }
  return counts;
}

}  // namespace

TEST_CASE("temperature 0 takes the first of the largest") {
  Generator generator(1);
  CHECK(sample_token(heed::tensor({1.f, 3.f, 3.f, 2.f}), {.temperature = 0}, generator) == 1);
  CHECK(sample_token(heed::tensor({1.0, 3.0, kInf}), {.temperature = 0}, generator) == 2);
}

TEST_CASE("tiny temperatures and top-k 1 are greedy without NaN") {
  const Tensor logits = heed::tensor({1.0, 3.0, 2.999, -kInf});
  for (const heed::train::SamplingOptions options :
       {heed::train::SamplingOptions{.temperature = 1e-4}, heed::train::SamplingOptions{.temperature = 1e-30},
        heed::train::SamplingOptions{.temperature = 1, .top_k = 1}}) {
    CHECK(histogram(logits, options, 100) == std::vector<int>{0, 100, 0, 0});
  }
}

TEST_CASE("tokens are drawn with their probabilities") {
  const Tensor logits = heed::tensor({std::log(0.5), -kInf, std::log(0.3), std::log(0.2)});
  const auto counts = histogram(logits, {}, 10000);
  CHECK(counts[1] == 0);  // probability zero is never drawn
  // 10 000 draws: the deviation of a count is at most 50
  CHECK(counts[0] == Approx(5000).margin(200));
  CHECK(counts[2] == Approx(3000).margin(200));
  const auto cooled = histogram(logits, {.temperature = 0.5}, 10000);
  CHECK(cooled[0] == Approx(10000 * 0.25 / 0.38).margin(200));  // squares of the probabilities
  const auto two = histogram(logits, {.top_k = 2}, 10000);
  CHECK(two[3] == 0);
  CHECK(two[0] == Approx(6250).margin(200));
  CHECK(histogram(logits, {.top_k = 100}, 100) == histogram(logits, {}, 100));
}

TEST_CASE("of equal logits top-k keeps the first") {
  const auto counts = histogram(heed::tensor({1.0, 2.0, 1.0, 1.0}), {.top_k = 2}, 1000);
  CHECK(counts[0] > 0);
  CHECK(counts[2] + counts[3] == 0);
}

TEST_CASE("what cannot be sampled is refused") {
  Generator generator(1);
  const Tensor fine = heed::tensor({1.0, 2.0});
  CHECK_THROWS_WITH(sample_token(heed::tensor({1.0, std::nan("")}), {}, generator),
                    Contains("a logit is NaN, that of token 1"));
  CHECK_THROWS_WITH(sample_token(heed::tensor({1.0, std::nan("")}), {.temperature = 0}, generator),
                    Contains("a logit is NaN"));
  CHECK_THROWS_AS(sample_token(heed::tensor({-kInf, -kInf}), {}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(heed::zeros({0}), {}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(heed::zeros({1, 2}), {}, generator), heed::ShapeError);
  CHECK_THROWS_AS(sample_token(fine, {.temperature = -1}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(fine, {.temperature = std::nan("")}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(fine, {.top_k = -1}, generator), heed::ValueError);
}

TEST_CASE("past the context the window slides") {
  const auto model = small_model(16);
  const heed::NoGrad guard;
  for (const std::size_t length : {1u, 15u, 16u, 17u, 100u}) {
    Ids tokens;
    for (std::size_t i = 0; i < length; ++i) tokens.push_back(static_cast<std::int64_t>(i % 11));
    Generator generator(1);
    const Ids made = generate(model, tokens, 40, {.temperature = 0}, generator);
    REQUIRE(made.size() == 40);
    for (const std::int64_t next : made) {
      const std::size_t begin = tokens.size() > 16 ? tokens.size() - 16 : 0;
      const std::span<const std::int64_t> window = std::span<const std::int64_t>(tokens).subspan(begin);
      const Tensor logits = model(heed::from_span(window, {static_cast<std::int64_t>(window.size())}));
      CHECK(next == sample_token(heed::select(logits, 0, -1), {.temperature = 0}, generator));
      tokens.push_back(next);
    }
  }
}

TEST_CASE("generated text depends on the seed alone", "[report-36]") {
  const auto model = small_model();
  const Ids prompt = {1, 2};
  const auto text = [&](std::uint64_t seed) {
    Generator generator(seed);
    return generate(model, prompt, 30, {}, generator);
  };
  const int threads = heed::num_threads();
  const Ids first = text(3);
  for (const int count : {1, 2, 3}) {
    heed::set_num_threads(count);
    CHECK(text(3) == first);
  }
  heed::set_num_threads(threads);
  CHECK(text(4) != first);
  Ids streamed;
  Generator generator(3);
  generate(model, prompt, 30, {}, generator, [&](std::int64_t token) { streamed.push_back(token); });
  CHECK(streamed == first);
}

TEST_CASE("generation refuses bad prompts") {
  const auto model = small_model();
  Generator generator(1);
  CHECK_THROWS_WITH(generate(model, {}, 1, {}, generator), Contains("the prompt is empty"));
  CHECK_THROWS_AS(generate(model, Ids{11}, 1, {}, generator), heed::IndexError);
  CHECK_THROWS_AS(generate(model, Ids{1}, -1, {}, generator), heed::ValueError);
  CHECK(generate(model, Ids{1}, 0, {}, generator).empty());
}
