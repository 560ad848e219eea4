#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/train/induction_source.h>

using Catch::Contains;
using heed::train::attention_on;
using heed::train::CopyPlace;
using heed::train::InductionSource;

TEST_CASE("each document lists entries of a table of its own") {
  const InductionSource source({.keys = 5, .values = 3});
  const std::string text = source.generate(200, 33, 7);
  REQUIRE(text.size() == 200 * 33);
  CHECK(source.generate(200, 33, 7) == text);
  CHECK(source.generate(200, 33, 8) != text);
  CHECK(source.generate(3, 33, 7) == text.substr(0, 3 * 33));
  CHECK(std::set<char>(text.begin(), text.end()) == std::set<char>{'0', '1', '2', 'a', 'b', 'c', 'd', 'e'});
  for (std::size_t begin = 0; begin < text.size(); begin += 33) {
    CHECK_NOTHROW(source.surprisal(text.substr(begin, 33)));  // no key has two values
  }
}

TEST_CASE("the known floor is the mean loss of a perfect model, at every position") {
  const InductionSource source({.keys = 4, .values = 6});
  constexpr std::size_t kContext = 12;
  constexpr std::size_t kDocuments = 4000;
  const std::vector<double> entropy = source.conditional_entropy(kContext);
  REQUIRE(entropy.size() == kContext);
  CHECK(entropy[0] == Approx(std::log(6.0)));
  CHECK(entropy[1] == Approx(std::log(4.0)));
  CHECK(entropy[4] == Approx(std::log(6.0) * 9 / 16));
  const std::string text = source.generate(kDocuments, kContext + 1, 1);
  std::vector<double> sums(kContext);
  for (std::size_t d = 0; d < kDocuments; ++d) {
    const auto surprisal = source.surprisal(text.substr(d * (kContext + 1), kContext + 1));
    for (std::size_t t = 0; t < kContext; ++t) sums[t] += surprisal[t];
  }
  // Each term lies in 0 … ln 6, so its deviation is at most ln 6 / 2; five of those of the mean.
  const double tolerance = 5 * std::log(6.0) / 2 / std::sqrt(static_cast<double>(kDocuments));
  for (std::size_t t = 0; t < kContext; ++t) {
    CAPTURE(t);
    CHECK(sums[t] / kDocuments == Approx(entropy[t]).margin(tolerance));
  }
  CHECK(source.entropy_floor(kContext) ==
        Approx(std::accumulate(entropy.begin(), entropy.end(), 0.0) / kContext));
  // One key: all is certain once its value was seen.
  CHECK(InductionSource({.keys = 1, .values = 10}).entropy_floor(2) == Approx(std::log(10.0) / 2));
}

TEST_CASE("what can be copied stands after earlier occurrences of the same key") {
  const InductionSource source({.keys = 3, .values = 3});
  const auto copies = source.copies("a1b1a1c0a1b");
  REQUIRE(copies.size() == 3);
  CHECK(copies[0].query == 4);
  CHECK(copies[0].sources == std::vector<std::int64_t>{1});
  CHECK(copies[1].query == 8);
  CHECK(copies[1].sources == std::vector<std::int64_t>{1, 5});
  CHECK(copies[2].query == 10);
  CHECK(copies[2].sources == std::vector<std::int64_t>{3});
  CHECK(source.surprisal("a1b1a1")[4] == 0);
  CHECK_THROWS_WITH(source.copies("a1a2"), Contains("'2' at position 3"));
  CHECK_THROWS_WITH(source.copies("d1"), Contains("'d' at position 0"));
  CHECK_THROWS_WITH(source.copies("1a"), Contains("position 0"));
  CHECK_THROWS_AS(InductionSource({.keys = 0}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.keys = 27}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.values = 11}), heed::ValueError);
  CHECK_THROWS_AS(source.conditional_entropy(0), heed::ValueError);
}

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
      heed::train::induction_scores(model, heed::train::ByteTokenizer(), InductionSource(), 8);
  REQUIRE(scores.size() == 2);
  for (const auto& heads : scores) {
    REQUIRE(heads.size() == 2);
    // Near uniform attention: about as much as the share of the right places, some in forty.
    for (const double score : heads) CHECK((score > 0 && score < 0.3));
  }
}
