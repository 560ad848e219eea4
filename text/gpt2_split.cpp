#include <new>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <heed/core/error.h>
#include <heed/text/gpt2_split.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

// Unicode's White_Space, as part of a character class. PCRE2's own \s includes U+180E, which is no
// longer white space.
constexpr char white_space[] =
    R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::string gpt2_pattern() {
  const std::string space = white_space;
  return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" + space + R"(\p{L}\p{N}]+|[)" + space +
         "]+(?![^" + space + "])|[" + space + "]+";
}

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// The pieces of well-formed text. The pattern matches at every position, because its last four branches
// accept any character.
void split_utf8(const pcre2_code* pattern, pcre2_match_data* match, std::string_view text,
                const std::function<void(std::string_view)>& call) {
  for (std::size_t offset = 0; offset < text.size();) {
    const int found = pcre2_match(pattern, bytes_of(text), text.size(), offset,
                                  PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, match, nullptr);
    if (found <= 0) {
      fail<ValueError>("Gpt2Split", "the pattern did not match",
                       fmt::format("PCRE2 error {} at byte {}", found, offset));
    }
    const std::size_t end = pcre2_get_ovector_pointer(match)[1];
    call(text.substr(offset, end - offset));
    offset = end;
  }
}

std::size_t well_formed_bytes(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (const std::size_t length = utf8_length(text, end)) end += length;
  return end - begin;
}

std::size_t malformed_bytes(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && utf8_length(text, end) == 0) ++end;
  return end - begin;
}

}  // namespace

Gpt2Split::Gpt2Split() {
  int error = 0;
  PCRE2_SIZE place = 0;
  const std::string text = gpt2_pattern();
  pcre2_code* pattern =
      pcre2_compile(bytes_of(text), text.size(), PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr);
  if (pattern == nullptr) {
    fail<ValueError>("Gpt2Split", "PCRE2 does not know the pattern",
                     fmt::format("error {} at {}", error, place), "PCRE2 built with Unicode");
  }
  pcre2_jit_compile(pattern, PCRE2_JIT_COMPLETE);  // without a JIT, matching is slower; results are the same
  pattern_ = std::shared_ptr<const void>(pattern, [pattern](const void*) { pcre2_code_free(pattern); });
}

void Gpt2Split::operator()(std::string_view text, const std::function<void(std::string_view)>& call) const {
  const auto* pattern = static_cast<const pcre2_code*>(pattern_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create_from_pattern(pattern, nullptr), pcre2_match_data_free);
  if (!match) throw std::bad_alloc();
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t good = well_formed_bytes(text, offset);
    split_utf8(pattern, match.get(), text.substr(offset, good), call);
    offset += good;
    const std::size_t bad = malformed_bytes(text, offset);
    if (bad > 0) call(text.substr(offset, bad));
    offset += bad;
  }
}

}  // namespace heed::text
