#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/text/corpus.h>

using namespace heed::text;

namespace {

// Two characters, four states: the text does not tell the state, so beliefs never settle.
HiddenChain tiny_chain() {
  HiddenChain chain;
  chain.states = {{'a', {{0, 1}, {1, 2}}},
                  {'b', {{2, 1}, {3, 1}}},
                  {'a', {{3, 3}, {0, 1}, {1, 1}}},
                  {'b', {{0, 2}, {2, 5}, {3, 1}}}};
  return chain;
}

double transition(const HiddenChain& chain, std::size_t from, std::size_t to) {
  double total = 0;
  double weight = 0;
  for (const auto& edge : chain.states[from].next) {
    total += edge.weight;
    if (edge.target == to) weight += edge.weight;
  }
  return weight / total;
}

// Adds P(path) of every hidden path of the given length to the string the path emits.
void add_paths(const TextSource& source, std::size_t state, double p, std::string text, std::size_t length,
               std::map<std::string, double>& strings) {
  text.push_back(source.chain().states[state].symbol);
  if (text.size() == length) {
    strings[text] += p;
    return;
  }
  for (std::size_t to = 0; to < source.chain().states.size(); ++to) {
    const double q = transition(source.chain(), state, to);
    if (q > 0) add_paths(source, to, p * q, text, length, strings);
  }
}

double block_entropy(const TextSource& source, std::size_t length) {
  std::map<std::string, double> strings;
  for (std::size_t s = 0; s < source.chain().states.size(); ++s) {
    add_paths(source, s, source.stationary()[s], "", length, strings);
  }
  double entropy = 0;
  for (const auto& [text, p] : strings) entropy -= p * std::log(p);
  return entropy;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("the stationary distribution is one step's fixed point") {
  for (const auto& source : {TextSource(tiny_chain()), tale_source()}) {
    std::vector<double> moved(source.stationary().size(), 0.0);
    double sum = 0;
    for (std::size_t s = 0; s < moved.size(); ++s) {
      sum += source.stationary()[s];
      double total = 0;
      for (const auto& edge : source.chain().states[s].next) total += edge.weight;
      for (const auto& edge : source.chain().states[s].next) {
        moved[edge.target] += source.stationary()[s] * edge.weight / total;
      }
    }
    CHECK(std::abs(sum - 1) < 1e-14);  // a sum of under 1000 rounded terms
    for (std::size_t s = 0; s < moved.size(); ++s) {
      CHECK(std::abs(moved[s] - source.stationary()[s]) <=
            1e-13 * source.stationary()[s]);  // relative rounding
    }
  }
}

TEST_CASE("conditional entropy equals enumeration of every string") {
  const TextSource source(tiny_chain());
  const auto entropy = source.conditional_entropy(9);
  for (std::size_t t = 1; t <= 9; ++t) {
    const double enumerated = block_entropy(source, t + 1) - block_entropy(source, t);
    // Merging beliefs within 2^-40 costs less than 1e-11; the difference of block entropies rounds at 1e-15.
    CHECK(std::abs(entropy[t - 1] - enumerated) < 1e-11);
  }
  CHECK(source.unigram_entropy() == Approx(block_entropy(source, 1)).epsilon(1e-14));
}

TEST_CASE("conditional entropy never rises and reaches the entropy rate") {
  SECTION("a chain whose text tells its state") {
    HiddenChain chain;
    chain.states = {{'x', {{0, 1}, {1, 3}}}, {'y', {{2, 2}, {0, 1}}}, {'z', {{0, 1}, {1, 1}, {2, 1}}}};
    const TextSource source(chain);
    for (const double h : source.conditional_entropy(5)) {
      CHECK(h == Approx(source.path_entropy_rate()).epsilon(1e-14));  // known from the first character on
    }
  }
  SECTION("the tale source") {
    const auto source = tale_source();
    const auto entropy = source.conditional_entropy(256);
    // 1e-10: merged beliefs may move an entry by their 2^-40 steps.
    for (std::size_t t = 1; t < entropy.size(); ++t) CHECK(entropy[t] <= entropy[t - 1] + 1e-10);
    CHECK(std::abs(entropy.back() - source.path_entropy_rate()) < 1e-9);
    CHECK(entropy.front() < source.unigram_entropy());
    CHECK(source.entropy_floor(64) < 0.2 * source.unigram_entropy());
    CHECK(source.entropy_floor(64) == Approx(mean({entropy.begin(), entropy.begin() + 64})).epsilon(1e-14));
  }
}

TEST_CASE("a perfect predictor's loss on generated text is the floor") {
  const auto source = tale_source();
  constexpr std::size_t context_size = 64;
  constexpr std::size_t window_count = 1500;
  const std::string text = source.generate(window_count * context_size + 1, 7);
  std::vector<double> losses;
  for (std::size_t w = 0; w < window_count; ++w) {
    losses.push_back(
        mean(source.surprisal(std::string_view(text).substr(w * context_size, context_size + 1))));
  }
  const double loss = mean(losses);
  double variance = 0;
  for (const double l : losses) variance += (l - loss) * (l - loss) / static_cast<double>(window_count - 1);
  // Windows are nearly independent (a full stop forgets everything), so four standard errors hold but for 1
  // in 16 000 seeds, and this seed is fixed.
  const double standard_error = std::sqrt(variance / static_cast<double>(window_count));
  CHECK(standard_error < 0.003);
  CHECK(std::abs(loss - source.entropy_floor(context_size)) < 4 * standard_error);
}

TEST_CASE("generated text is fixed by its seed") {
  const auto source = tale_source();
  const std::string text = source.generate(4000, 3);
  CHECK(text.size() == 4000);
  CHECK(text == source.generate(4000, 3));
  CHECK(text.substr(0, 100) == source.generate(100, 3));
  CHECK(text != source.generate(4000, 4));
  CHECK(source.generate(0, 3).empty());
  // Written down once: another platform or compiler must give the same characters.
  CHECK(source.generate(60, 1) == " likes a strange song. the queens see the golden lamp.\nsome ");
  const std::set<char> letters(text.begin(), text.end());
  CHECK(std::all_of(letters.begin(), letters.end(),
                    [](char c) { return (c >= 'a' && c <= 'z') || c == ' ' || c == '.' || c == '\n'; }));
}

TEST_CASE("chains that are no source are refused") {
  HiddenChain chain;
  CHECK_THROWS_WITH(TextSource(chain), "TextSource: the chain has no states");
  chain.states = {{'a', {{2, 1}}}, {'b', {{0, 1}}}};
  CHECK_THROWS_WITH(
      TextSource(chain),
      "TextSource: an edge leaves the chain, state 0 leads to state 2; expected a state below 2");
  chain.states = {{'a', {{1, 1}}}, {'b', {}}};
  CHECK_THROWS_WITH(TextSource(chain),
                    "TextSource: weights out of range, state 1 has total weight 0; expected 1 to 2^32 - 1");
  chain.states = {{'a', {{0, 1}, {1, 1}}}, {'b', {{1, 1}}}};
  CHECK_THROWS_WITH(
      TextSource(chain),
      "TextSource: the chain is not connected, state 1 cannot be left; expected every state reachable "
      "from every other");
  chain.states = {{'a', {{0, 1}}}, {'b', {{0, 1}}}};
  CHECK_THROWS_WITH(TextSource(chain),
                    "TextSource: the chain is not connected, state 1 cannot be reached; expected every state "
                    "reachable from every other");
  CHECK_THROWS_WITH(tale_source().conditional_entropy(0),
                    "conditional_entropy: context out of range, 0; expected at least 1");
  CHECK_THROWS_WITH(tale_source().surprisal("the zoo"),
                    "surprisal: the source cannot emit this window, at character 4");
  CHECK_THROWS_AS(tale_source().surprisal("q!"), heed::ValueError);
}
