#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

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

// The different pieces of a text, one after another.
struct Pieces {
  std::vector<std::int32_t> ids;     // of all bytes
  std::vector<std::uint32_t> ends;   // of each piece
  std::vector<std::int64_t> counts;  // of each piece
};

// How often each pair occurs, and where; gives the most frequent pair. A piece is a linked list, so that
// joining a pair takes no longer than it has occurrences, however long its pieces are.
class PairCounts {
 public:
  explicit PairCounts(const Pieces& pieces) : counts_(pieces.counts) {
    symbols_.resize(pieces.ids.size());
    std::uint32_t begin = 0;
    for (std::uint32_t piece = 0; piece < pieces.ends.size(); ++piece) {
      const std::uint32_t end = pieces.ends[piece];
      for (std::uint32_t i = begin; i < end; ++i) {
        symbols_[i] = {pieces.ids[i], i == begin ? none : i - 1, i + 1 == end ? none : i + 1, piece};
      }
      begin = end;
    }
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) count(i, 1);
    for (const auto& [pair, occurrences] : pairs_) queue_.push({occurrences.count, pair});
  }

  // The most frequent pair, the lowest of equally frequent ones; count 0 when there is none.
  std::pair<std::int64_t, Pair> best() {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      const auto found = pairs_.find(entry.pair);
      const std::int64_t now = found == pairs_.end() ? 0 : found->second.count;
      if (now == entry.count) return {now, entry.pair};
      queue_.pop();
      if (now > 0) queue_.push({now, entry.pair});
    }
    return {0, {}};
  }

  // Replaces the pair by the token `id` in every piece, from left to right.
  void join(const Pair& pair, std::int64_t id) {
    std::vector<std::uint32_t> places = std::move(pairs_[pair].places);
    std::sort(places.begin(), places.end());
    grown_.clear();
    for (const std::uint32_t place : places) {
      Symbol& left = symbols_[place];
      // Out of date: one of the two has been joined with another one in the meantime.
      if (left.id != pair.first || left.after == none || symbols_[left.after].id != pair.second) continue;
      Symbol& right = symbols_[left.after];
      if (left.before != none) count(left.before, -1);
      count(place, -1);
      count(left.after, -1);
      left.id = static_cast<std::int32_t>(id);
      left.after = right.after;
      right.id = -1;
      if (left.after != none) symbols_[left.after].before = place;
      if (left.before != none) count(left.before, 1);
      count(place, 1);
    }
    pairs_.erase(pair);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const Pair& next : grown_) {
      const auto found = pairs_.find(next);
      if (found != pairs_.end()) queue_.push({found->second.count, next});
    }
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  struct Symbol {
    std::int32_t id;  // −1: joined with the one before
    std::uint32_t before, after, piece;
  };
  struct Occurrences {
    std::int64_t count = 0;
    std::vector<std::uint32_t> places;  // of the left symbols, and some that are out of date
  };
  struct Entry {
    std::int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  // The pair that begins here comes (sign 1) or goes (−1), if there is one.
  void count(std::uint32_t place, int sign) {
    const Symbol& left = symbols_[place];
    if (left.after == none) return;
    const Pair pair{left.id, symbols_[left.after].id};
    Occurrences& occurrences = pairs_[pair];
    occurrences.count += sign * counts_[left.piece];
    if (sign < 0) return;
    occurrences.places.push_back(place);
    grown_.push_back(pair);
  }

  std::vector<std::int64_t> counts_;  // of each piece
  std::vector<Symbol> symbols_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  std::vector<Pair> grown_;
  std::priority_queue<Entry> queue_;  // counts may be out of date, but then they are too high
};

Pieces pieces_of(std::string_view text) {
  std::array<std::int32_t, 256> byte_ids{};
  const auto& order = byte_alphabet_order();
  for (std::size_t id = 0; id < order.size(); ++id) byte_ids[order[id]] = static_cast<std::int32_t>(id);
  std::unordered_map<std::string_view, std::int64_t> counts;
  Gpt2Split()(text, [&](std::string_view piece) { ++counts[piece]; });
  std::size_t bytes = 0;
  for (const auto& [piece, count] : counts) bytes += piece.size();
  check_value(bytes < 0xFFFFFFFF, "train_bpe", "bytes of the text's different pieces",
              static_cast<std::int64_t>(bytes), "fewer than 2^32 - 1");
  Pieces pieces;
  pieces.ids.reserve(bytes);
  for (const auto& [piece, count] : counts) {
    for (const char c : piece) pieces.ids.push_back(byte_ids[static_cast<unsigned char>(c)]);
    pieces.ends.push_back(static_cast<std::uint32_t>(pieces.ids.size()));
    pieces.counts.push_back(count);
  }
  return pieces;
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
  PairCounts counts(pieces_of(text));
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
