#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/text/induction_source.h>

using Catch::Contains;
using heed::text::InductionSource;

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
  const InductionSource source({.keys = 4, .values = 6, .steps = 3});
  constexpr std::size_t context_size = 12;
  constexpr std::size_t document_count = 4000;
  const std::vector<double> entropy = source.conditional_entropy(context_size);
  REQUIRE(entropy.size() == context_size);
  CHECK(entropy[0] == Approx(std::log(6.0)));
  CHECK(entropy[1] == Approx(std::log(3.0)));
  CHECK(entropy[2] == Approx(std::log(6.0)));  // no key comes twice in a row
  // Back after two steps: 1 and 3, 2 and 2, 3 and 1 of nine ways.
  CHECK(entropy[4] == Approx(std::log(6.0) * 6 / 9));
  const std::string text = source.generate(document_count, context_size + 1, 1);
  std::vector<double> sums(context_size);
  for (std::size_t d = 0; d < document_count; ++d) {
    const auto surprisal = source.surprisal(text.substr(d * (context_size + 1), context_size + 1));
    for (std::size_t t = 0; t < context_size; ++t) sums[t] += surprisal[t];
  }
  // Each term lies in 0 … ln 6, so its deviation is at most ln 6 / 2; five of those of the mean.
  const double tolerance = 5 * std::log(6.0) / 2 / std::sqrt(static_cast<double>(document_count));
  for (std::size_t t = 0; t < context_size; ++t) {
    CAPTURE(t);
    CHECK(sums[t] / document_count == Approx(entropy[t]).margin(tolerance));
  }
  CHECK(source.entropy_floor(context_size) ==
        Approx(std::accumulate(entropy.begin(), entropy.end(), 0.0) / context_size));
  // One key: all is certain once its value was seen.
  CHECK(InductionSource({.keys = 1, .values = 10, .steps = 1}).entropy_floor(2) ==
        Approx(std::log(10.0) / 2));
}

TEST_CASE("what can be copied stands after earlier occurrences of the same key") {
  const InductionSource source({.keys = 3, .values = 3, .steps = 3});
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
  CHECK_THROWS_WITH(InductionSource({.keys = 3, .values = 3, .steps = 1}).copies("a1b1a1"),
                    Contains("'a' at position 4"));
  CHECK(InductionSource({.keys = 3, .values = 3, .steps = 1}).copies("c1a1b1c1").size() == 1);
  CHECK_THROWS_AS(InductionSource({.keys = 0}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.keys = 4, .steps = 5}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.steps = 0}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.keys = 27}), heed::ValueError);
  CHECK_THROWS_AS(InductionSource({.values = 11}), heed::ValueError);
  CHECK_THROWS_AS(source.conditional_entropy(0), heed::ValueError);
}
