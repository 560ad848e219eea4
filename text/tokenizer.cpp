#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/tokenizer.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

// A character as 'é' (U+00E9); control characters by their number alone.
std::string character_name(char32_t code) {
  const std::string number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(code));
  if (code < 0x20 || code == 0x7F) return number;
  std::string name;
  append_utf8(name, code);
  return "'" + name + "' (" + number + ")";
}

}  // namespace

void check_token_ids(std::span<const std::int64_t> tokens, std::int64_t vocab_size) {
  const auto bad =
      std::find_if(tokens.begin(), tokens.end(), [&](std::int64_t id) { return id < 0 || id >= vocab_size; });
  if (bad == tokens.end()) return;
  fail<IndexError>("decode", "token id outside the vocabulary",
                   fmt::format("{} at position {}", *bad, std::distance(tokens.begin(), bad)),
                   fmt::format("0 to {}", vocab_size - 1));
}

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(),
                 [](char c) { return static_cast<unsigned char>(c); });
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int64_t> tokens) const {
  check_token_ids(tokens, vocab_size());
  std::string text(tokens.size(), '\0');
  std::transform(tokens.begin(), tokens.end(), text.begin(),
                 [](std::int64_t id) { return static_cast<char>(id); });
  return text;
}

std::string ByteTokenizer::to_json() const { return nlohmann::json{{"type", "byte"}}.dump(); }

CharTokenizer::CharTokenizer(std::string_view text) : codes_(decode_utf8(text, "CharTokenizer")) {
  if (codes_.empty()) fail<ValueError>("CharTokenizer", "no text to take characters from");
  std::sort(codes_.begin(), codes_.end());
  codes_.erase(std::unique(codes_.begin(), codes_.end()), codes_.end());
  codes_.shrink_to_fit();
}

std::vector<std::int64_t> CharTokenizer::encode(std::string_view text) const {
  const auto codes = decode_utf8(text, "encode");
  std::vector<std::int64_t> tokens;
  tokens.reserve(codes.size());
  for (const char32_t code : codes) {
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
    if (found == codes_.end() || *found != code) {
      fail<ValueError>("encode", "character outside the vocabulary",
                       fmt::format("{} at position {}", character_name(code), tokens.size()),
                       fmt::format("one of the {} characters the tokenizer was built from", codes_.size()));
    }
    tokens.push_back(found - codes_.begin());
  }
  return tokens;
}

std::string CharTokenizer::decode(std::span<const std::int64_t> tokens) const {
  check_token_ids(tokens, vocab_size());
  std::string text;
  text.reserve(tokens.size());
  for (const std::int64_t id : tokens) append_utf8(text, codes_[static_cast<std::size_t>(id)]);
  return text;
}

std::string CharTokenizer::to_json() const {
  std::string characters;
  for (const char32_t code : codes_) append_utf8(characters, code);
  return nlohmann::json{{"type", "char"}, {"characters", characters}}.dump();
}

}  // namespace heed::text
