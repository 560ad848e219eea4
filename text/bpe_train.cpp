#include <array>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <heed/core/arguments.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/byte_alphabet.h>

namespace heed::text {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(pair.first) << 32 |
                                      static_cast<std::uint64_t>(pair.second));
  }
};

struct Word {
  std::vector<std::int64_t> ids;
  std::int64_t count = 0;
};

// How often each pair occurs, and in which words; gives the most frequent pair.
class PairCounts {
 public:
  explicit PairCounts(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t w = 0; w < words_.size(); ++w) add(w, words_[w].count);
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  // The most frequent pair, the lowest of equally frequent ones; count 0 when there is none.
  std::pair<std::int64_t, Pair> best() {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      const std::int64_t now = counts_[entry.pair];
      if (now == entry.count) return {now, entry.pair};
      queue_.pop();
      if (now > 0) queue_.push({now, entry.pair});
    }
    return {0, {}};
  }

  // Replaces the pair by the token `id` in every word.
  void join(const Pair& pair, std::int64_t id) {
    const std::unordered_set<std::size_t> places = std::move(where_[pair]);
    std::unordered_set<Pair, PairHash> fresh;
    for (const std::size_t w : places) {
      add(w, -words_[w].count);
      replace(words_[w].ids, pair, id);
      add(w, words_[w].count);
      const auto& ids = words_[w].ids;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] == id || ids[i + 1] == id) fresh.insert({ids[i], ids[i + 1]});
      }
    }
    for (const Pair& next : fresh) queue_.push({counts_[next], next});
    counts_.erase(pair);
    where_.erase(pair);
  }

 private:
  struct Entry {
    std::int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void add(std::size_t w, std::int64_t count) {
    const auto& ids = words_[w].ids;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Pair pair{ids[i], ids[i + 1]};
      counts_[pair] += count;
      if (count > 0) where_[pair].insert(w);
    }
  }

  static void replace(std::vector<std::int64_t>& ids, const Pair& pair, std::int64_t id) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool joins = i + 1 < ids.size() && ids[i] == pair.first && ids[i + 1] == pair.second;
      ids[kept++] = joins ? id : ids[i];
      if (joins) ++i;
    }
    ids.resize(kept);
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::unordered_set<std::size_t>, PairHash> where_;
  std::priority_queue<Entry> queue_;  // counts may be out of date, but then they are too high
};

std::vector<Word> words_of(std::string_view text) {
  std::array<std::int64_t, 256> byte_ids{};
  const auto& order = byte_alphabet_order();
  for (std::size_t id = 0; id < order.size(); ++id) byte_ids[order[id]] = static_cast<std::int64_t>(id);
  std::unordered_map<std::string_view, std::int64_t> counts;
  Gpt2Split()(text, [&](std::string_view piece) { ++counts[piece]; });
  std::vector<Word> words;
  for (const auto& [piece, count] : counts) {
    Word word{.ids = {}, .count = count};
    for (const char c : piece) word.ids.push_back(byte_ids[static_cast<unsigned char>(c)]);
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

BpeVocabulary train_bpe(std::string_view text, const BpeTrainOptions& options) {
  check_value(options.vocab_size >= 256, "train_bpe", "vocab_size", options.vocab_size, "at least 256");
  check_value(options.min_count >= 1, "train_bpe", "min_count", options.min_count, "at least 1");
  BpeVocabulary vocabulary;
  for (const unsigned char byte : byte_alphabet_order()) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  std::unordered_map<std::string, std::int64_t> ids;
  PairCounts counts(words_of(text));
  while (static_cast<std::int64_t>(vocabulary.tokens.size()) < options.vocab_size) {
    const auto [count, pair] = counts.best();
    if (count < options.min_count) break;
    const auto next = static_cast<std::int64_t>(vocabulary.tokens.size());
    const std::string token = vocabulary.tokens[static_cast<std::size_t>(pair.first)] +
                              vocabulary.tokens[static_cast<std::size_t>(pair.second)];
    // ab·c and a·bc give the same token by two different merges.
    const auto [place, is_new] = ids.emplace(token, next);
    counts.join(pair, place->second);
    vocabulary.merges.push_back(pair);
    if (!is_new) continue;
    vocabulary.tokens.push_back(token);
    if (options.on_progress) options.on_progress(next + 1, options.vocab_size);
  }
  return vocabulary;
}

}  // namespace heed::text
