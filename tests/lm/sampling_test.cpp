#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/lm/sampling.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::lm::sample_token;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<int> histogram(const Tensor& logits, const heed::lm::SamplingOptions& options, int draws) {
  Generator generator(5);
  std::vector<int> counts(static_cast<std::size_t>(logits.numel()));
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<std::size_t>(sample_token(logits, options, generator))];
  }
  return counts;
}

// The tokens that come up at all, such as "023".
std::string kept(const Tensor& logits, const heed::lm::SamplingOptions& options) {
  const auto counts = histogram(logits, options, 2000);
  std::string tokens;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) tokens += std::to_string(i);
  }
  return tokens;
}

const Tensor four = heed::tensor({std::log(0.45), std::log(0.25), std::log(0.2), std::log(0.1)});

}  // namespace

TEST_CASE("temperature 0 takes the first of the largest", "[report-45]") {
  Generator generator(1);
  CHECK(sample_token(heed::tensor({1.f, 3.f, 3.f, 2.f}), {.temperature = 0}, generator) == 1);
  CHECK(sample_token(heed::tensor({1.0, 3.0, inf}), {.temperature = 0}, generator) == 2);
}

TEST_CASE("tiny temperatures and top-k 1 are greedy without NaN", "[report-45]") {
  const Tensor logits = heed::tensor({1.0, 3.0, 2.999, -inf});
  for (const heed::lm::SamplingOptions options :
       {heed::lm::SamplingOptions{.temperature = 1e-4}, heed::lm::SamplingOptions{.temperature = 1e-30},
        heed::lm::SamplingOptions{.temperature = 1, .top_k = 1}}) {
    CHECK(histogram(logits, options, 100) == std::vector<int>{0, 100, 0, 0});
  }
}

TEST_CASE("tokens are drawn with their probabilities", "[report-46]") {
  const Tensor logits = heed::tensor({std::log(0.5), -inf, std::log(0.3), std::log(0.2)});
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

TEST_CASE("what cannot be sampled is refused", "[report-45]") {
  Generator generator(1);
  const Tensor fine = heed::tensor({1.0, 2.0});
  CHECK_THROWS_WITH(sample_token(heed::tensor({1.0, std::nan("")}), {}, generator),
                    Contains("a logit is NaN, that of token 1"));
  CHECK_THROWS_WITH(sample_token(heed::tensor({1.0, std::nan("")}), {.temperature = 0}, generator),
                    Contains("a logit is NaN"));
  CHECK_THROWS_AS(sample_token(heed::tensor({-inf, -inf}), {}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(heed::zeros({0}), {}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(heed::zeros({1, 2}), {}, generator), heed::ShapeError);
  CHECK_THROWS_AS(sample_token(fine, {.temperature = -1}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(fine, {.temperature = std::nan("")}, generator), heed::ValueError);
  CHECK_THROWS_AS(sample_token(fine, {.top_k = -1}, generator), heed::ValueError);
  for (const heed::lm::SamplingOptions& bad : {heed::lm::SamplingOptions{.top_p = 1.1},
                                               {.top_p = -0.1},
                                               {.top_p = std::nan("")},
                                               {.min_p = 2},
                                               {.min_p = -1},
                                               {.repetition_penalty = 0},
                                               {.repetition_penalty = inf}}) {
    CHECK_THROWS_AS(sample_token(fine, bad, generator), heed::ValueError);
  }
  const std::vector<std::int64_t> outside = {0, 2};
  CHECK_THROWS_AS(sample_token(fine, {.repetition_penalty = 2}, generator, outside), heed::IndexError);
}

TEST_CASE("top-p keeps the token that crosses the limit", "[report-46]") {
  CHECK(kept(four, {.top_p = 0.3}) == "0");
  CHECK(kept(four, {.top_p = 0.6}) == "01");
  CHECK(kept(four, {.top_p = 0.8}) == "012");
  CHECK(kept(four, {.top_p = 1}) == "0123");
  CHECK(kept(four, {.top_p = 0}) == "0");
  CHECK(kept(four, {.top_p = 1e-8}) == "0");
  // of what top-k keeps, .45 and .25, the first has .643
  CHECK(kept(four, {.top_k = 2, .top_p = 0.64}) == "0");
  CHECK(kept(four, {.top_k = 2, .top_p = 0.65}) == "01");
  // equal ones in the order of their numbers
  CHECK(kept(heed::tensor({0.0, 1.0, 1.0, 1.0}), {.top_p = 0.5}) == "12");
}

TEST_CASE("min-p is a share of the likeliest") {
  CHECK(kept(four, {.min_p = 0.5}) == "01");
  CHECK(kept(four, {.min_p = 0.4}) == "012");
  CHECK(kept(four, {.min_p = 1}) == "0");
  CHECK(kept(four, {.min_p = 0}) == "0123");
}

TEST_CASE("the repetition penalty makes seen tokens less likely, whatever their sign") {
  Generator generator(1);
  const Tensor logits = heed::tensor({3.0, 2.0, -1.0, -1.5});
  const heed::lm::SamplingOptions greedy = {.temperature = 0, .repetition_penalty = 2};
  using Ids = std::vector<std::int64_t>;
  CHECK(sample_token(logits, greedy, generator, Ids{}) == 0);
  CHECK(sample_token(logits, greedy, generator, Ids{0}) == 1);        // 1.5 < 2
  CHECK(sample_token(logits, greedy, generator, Ids{0, 0, 0}) == 1);  // once, however often it was seen
  CHECK(sample_token(logits, greedy, generator, Ids{0, 1}) == 0);     // 1.5 > 1
  CHECK(sample_token(heed::tensor({-1.0, -1.5}), greedy, generator, Ids{0}) == 1);  // -2 < -1.5
}
