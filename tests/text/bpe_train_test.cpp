// Learned merges against a trainer that recounts every pair after each merge.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/random.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/byte_alphabet.h>

using namespace heed;
using text::BpeVocabulary;

namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

std::map<Pair, std::int64_t> pairs_of(const std::vector<std::vector<std::int64_t>>& pieces) {
  std::map<Pair, std::int64_t> counts;
  for (const auto& piece : pieces) {
    for (std::size_t i = 0; i + 1 < piece.size(); ++i) ++counts[{piece[i], piece[i + 1]}];
  }
  return counts;
}

std::vector<Pair> merges_by_recounting(const std::string& text, std::size_t vocab_size) {
  std::array<std::int64_t, 256> ids{};
  std::vector<std::string> tokens;
  for (const unsigned char byte : text::byte_alphabet_order()) {
    ids[byte] = static_cast<std::int64_t>(tokens.size());
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  std::vector<std::vector<std::int64_t>> pieces;
  text::Gpt2Split()(text, [&](std::string_view piece) {
    auto& of_piece = pieces.emplace_back();
    for (const char c : piece) of_piece.push_back(ids[static_cast<unsigned char>(c)]);
  });
  std::vector<Pair> merges;
  while (tokens.size() < vocab_size) {
    const auto counts = pairs_of(pieces);
    // The first of the largest, in the order of the pairs.
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) break;
    const auto [left, right] = best->first;
    const std::string joined =
        tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)];
    const auto place = std::find(tokens.begin(), tokens.end(), joined) - tokens.begin();
    if (place == static_cast<std::ptrdiff_t>(tokens.size())) tokens.push_back(joined);
    merges.emplace_back(left, right);
    for (auto& piece : pieces) {
      std::vector<std::int64_t> next;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        const bool joins = i + 1 < piece.size() && piece[i] == left && piece[i + 1] == right;
        next.push_back(joins ? place : piece[i]);
        i += joins ? 1 : 0;
      }
      piece = next;
    }
  }
  return merges;
}

std::string random_text(std::uint64_t seed, std::string_view letters, std::int64_t length) {
  Generator generator(seed);
  const auto drawn = randint(0, static_cast<std::int64_t>(letters.size()), {length}, generator);
  std::string text;
  for (const std::int64_t letter : drawn.to_vector<std::int64_t>()) {
    text += letters[static_cast<std::size_t>(letter)];
  }
  return text;
}

}  // namespace

TEST_CASE("learned merges are those of a trainer that recounts every pair", "[bpe]") {
  // One piece, many pieces, runs of one letter, ties.
  const std::string letters = GENERATE("a", "ab", "acgt", "ab ", "a  ", "abcdefgh \n", "aab1!");
  const auto seed = GENERATE(range(1, 6));
  const std::string text = random_text(static_cast<std::uint64_t>(seed), letters, 100 * seed * seed);
  CAPTURE(letters, seed);
  const BpeVocabulary learned = text::train_bpe(text, {.vocab_size = 330});
  CHECK(learned.merges == merges_by_recounting(text, 330));
}

TEST_CASE("one piece of a megabyte is learned from", "[bpe][fault-25]") {
  const std::string text = random_text(1, "acgt", 1 << 20);
  const text::BpeTokenizer tokenizer(text::train_bpe(text, {.vocab_size = 1024}));
  CHECK(tokenizer.vocab_size() == 1024);
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
}
