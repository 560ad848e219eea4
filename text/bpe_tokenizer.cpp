#include <algorithm>
#include <queue>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/byte_alphabet.h>

namespace heed::text {
namespace {

constexpr std::string_view bpe_name = "BpeTokenizer";
constexpr std::size_t none = static_cast<std::size_t>(-1);
constexpr std::size_t longest_cached = 64;      // bytes; longer pieces rarely come again
constexpr std::size_t most_cached = 1u << 18u;  // pieces

std::string printable(std::string_view bytes) { return fmt::format("'{}'", to_byte_alphabet(bytes)); }

// One token of a piece while tokens are merged: an element of a doubly linked list.
struct Part {
  std::int64_t id;
  std::size_t before;
  std::size_t after;
};

struct Candidate {
  std::int64_t rank;
  std::size_t place;  // of the left part
  std::int64_t left, right, result;
  // The top of the queue is the greatest element, so the lowest rank, then the leftmost place,
  // is the greatest.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : place > other.place;
  }
};

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), byte_ids_(256, -1) {
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (const std::string& token : vocabulary_.tokens) {
    const auto id = static_cast<std::int64_t>(ids.size());
    if (!ids.emplace(token, id).second) fail<ValueError>(bpe_name, "a token comes twice", printable(token));
    if (token.size() == 1) byte_ids_[static_cast<unsigned char>(token[0])] = id;
  }
  const auto missing = std::find(byte_ids_.begin(), byte_ids_.end(), -1);
  if (missing != byte_ids_.end()) {
    fail<ValueError>(bpe_name, "a byte has no token", fmt::format("0x{:02X}", missing - byte_ids_.begin()));
  }
  const auto bound = vocab_size();
  for (const std::int64_t id : vocabulary_.added) {
    if (id < 0 || id >= bound) fail<ValueError>(bpe_name, "an added id is no token", std::to_string(id));
  }
  for (const auto& [left, right] : vocabulary_.merges) {
    const auto rank = static_cast<std::int64_t>(merges_.size());
    if (left < 0 || right < 0 || left >= bound || right >= bound) {
      fail<ValueError>(bpe_name, "a merge of what is no token", fmt::format("{} and {}", left, right));
    }
    const std::string joined = vocabulary_.tokens[static_cast<std::size_t>(left)] +
                               vocabulary_.tokens[static_cast<std::size_t>(right)];
    const auto result = ids.find(joined);
    if (result == ids.end()) fail<ValueError>(bpe_name, "a merge to what is no token", printable(joined));
    if (!merges_.emplace(key(left, right), Merge{rank, result->second}).second) {
      fail<ValueError>(bpe_name, "a merge comes twice", fmt::format("{} and {}", left, right));
    }
  }
}

const BpeTokenizer::Merge* BpeTokenizer::find(std::int64_t left, std::int64_t right) const {
  const auto found = merges_.find(key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::int64_t> BpeTokenizer::merge(std::string_view piece) const {
  std::vector<Part> parts;
  for (const char c : piece) {
    const std::size_t place = parts.size();
    parts.push_back({byte_ids_[static_cast<unsigned char>(c)], place == 0 ? none : place - 1, place + 1});
  }
  parts.back().after = none;
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::size_t place) {
    if (place == none || parts[place].after == none) return;
    const std::int64_t left = parts[place].id;
    const std::int64_t right = parts[parts[place].after].id;
    if (const Merge* merge = find(left, right)) {
      queue.push({merge->rank, place, left, right, merge->result});
    }
  };
  for (std::size_t place = 0; place < parts.size(); ++place) offer(place);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Part& left = parts[best.place];
    const std::size_t gone = left.after;
    // Out of date: one of the two has been merged with another token in the meantime.
    if (left.id != best.left || gone == none || parts[gone].id != best.right) continue;
    left.id = best.result;
    left.after = parts[gone].after;
    if (left.after != none) parts[left.after].before = best.place;
    parts[gone].id = -1;
    offer(left.before);
    offer(best.place);
  }
  std::vector<std::int64_t> ids;
  for (std::size_t place = 0; place != none; place = parts[place].after) ids.push_back(parts[place].id);
  return ids;
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  std::unordered_map<std::string_view, std::vector<std::int64_t>>
      known;  // the tokens of pieces met before in this text
  split_(text, [&](std::string_view piece) {
    const auto found = known.find(piece);
    if (found != known.end()) {
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
      return;
    }
    std::vector<std::int64_t> ids = merge(piece);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    if (piece.size() <= longest_cached && known.size() < most_cached) known.emplace(piece, std::move(ids));
  });
  return tokens;
}

std::string BpeTokenizer::decode(std::span<const std::int64_t> tokens) const {
  check_token_ids(tokens, vocab_size());
  std::string text;
  for (const std::int64_t id : tokens) text += vocabulary_.tokens[static_cast<std::size_t>(id)];
  return text;
}

}  // namespace heed::text
