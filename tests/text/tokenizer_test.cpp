#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/text/tokenizer.h>
#include <heed/text/utf8.h>

using namespace heed::text;
using namespace std::string_literals;
using Ids = std::vector<std::int64_t>;

namespace {

std::string all_bytes() {
  std::string text;
  for (int b = 0; b < 256; ++b) text.push_back(static_cast<char>(b));
  return text;
}

}  // namespace

TEST_CASE("bytes in are bytes out", "[report-43]") {
  const ByteTokenizer tokenizer;
  CHECK(tokenizer.vocab_size() == 256);
  for (const auto& text : {""s, "na\u00efve \u20ac5"s, all_bytes(), "\xC3"s, "a\r\nb\0c"s}) {
    CHECK(tokenizer.encode(text).size() == text.size());
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  CHECK(tokenizer.encode("A\xFF") == Ids{65, 255});
  std::string streamed;  // token by token, a split character joins up again
  for (const auto id : tokenizer.encode("na\u00efve \u20ac5")) streamed += tokenizer.decode(Ids{id});
  CHECK(streamed == "na\u00efve \u20ac5");
}

TEST_CASE("characters are numbered in code point order") {
  const CharTokenizer tokenizer("b\u20aca\u00efb\n\U0001F989");
  CHECK(tokenizer.vocab_size() == 6);
  CHECK(tokenizer.encode("\nab\u00ef\u20ac\U0001F989") == Ids{0, 1, 2, 3, 4, 5});
  CHECK(tokenizer.decode(Ids{5, 0, 4, 4}) == "\U0001F989\n\u20ac\u20ac");
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode(Ids{}).empty());
}

TEST_CASE("decode undoes encode on random text") {
  std::mt19937 random(5);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    const char32_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
    char32_t code = static_cast<char32_t>(random() % limits[i % 4]);
    if (code >= 0xD800 && code <= 0xDFFF) code -= 0x800;
    append_utf8(text, code);
  }
  const CharTokenizer chars(text);
  CHECK(chars.decode(chars.encode(text)) == text);
  CHECK(chars.encode(text).size() == 3000);
  CHECK(ByteTokenizer().decode(ByteTokenizer().encode(text)) == text);
}

TEST_CASE("an unknown character is named with its position", "[report-43]") {
  const CharTokenizer tokenizer("abc ");
  CHECK_THROWS_WITH(
      tokenizer.encode("ab \u20acc"),
      "encode: character outside the vocabulary, '\u20ac' (U+20AC) at position 3; expected one of the 4 "
      "characters the tokenizer was built from");
  CHECK_THROWS_WITH(tokenizer.encode("\t"),
                    "encode: character outside the vocabulary, U+0009 at position 0; expected one of the 4 "
                    "characters the tokenizer was built from");
  CHECK_THROWS_AS(tokenizer.encode("d"), heed::ValueError);
}

TEST_CASE("malformed UTF-8 is named with its byte offset") {
  CHECK_THROWS_WITH(CharTokenizer("ab\xFFz"), "CharTokenizer: the text is not UTF-8, byte 0xFF at offset 2");
  CHECK_THROWS_WITH(CharTokenizer("abc").encode("\u00e9\x80"),
                    "encode: the text is not UTF-8, byte 0x80 at offset 2");
  CHECK_THROWS_WITH(CharTokenizer(""), "CharTokenizer: no text to take characters from");
  const std::string malformed[] = {"\xC0\x80",     "\xC1\xBF",     "\xE0\x9F\xBF",     "\xF0\x8F\xBF\xBF",
                                   "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                                   "\xE2\x82",     "\xF0\x9F\xA6", "\xE2\x28\xA1",     "\x80"};
  for (const auto& bytes : malformed) {
    CAPTURE(bytes);
    CHECK(utf8_length(bytes, 0) == 0);
    CHECK_THROWS_AS(decode_utf8(bytes, "test"), heed::ValueError);
  }
  const std::string borders[] = {"\x7F"s,
                                 "\xC2\x80"s,
                                 "\xDF\xBF"s,
                                 "\xE0\xA0\x80"s,
                                 "\xED\x9F\xBF"s,
                                 "\xEE\x80\x80"s,
                                 "\xF0\x90\x80\x80"s,
                                 "\xF4\x8F\xBF\xBF"s,
                                 "\0"s};
  for (const auto& bytes : borders) {
    CHECK(utf8_length(bytes, 0) == bytes.size());
    std::string again;
    append_utf8(again, decode_utf8(bytes, "test").at(0));
    CHECK(again == bytes);
  }
}

TEST_CASE("ids outside the vocabulary are refused") {
  CHECK_THROWS_WITH(ByteTokenizer().decode(Ids{1, 256}),
                    "decode: token id outside the vocabulary, 256 at position 1; expected 0 to 255");
  CHECK_THROWS_WITH(CharTokenizer("xyz").decode(Ids{-1}),
                    "decode: token id outside the vocabulary, -1 at position 0; expected 0 to 2");
  CHECK_THROWS_AS(CharTokenizer("xyz").decode(Ids{3}), heed::IndexError);
}

TEST_CASE("a tokenizer returns from its JSON") {
  const CharTokenizer chars("\"\\\n\u00ef\u20ac z"s + '\0');
  const auto restored = tokenizer_from_json(chars.to_json());
  CHECK(restored->vocab_size() == chars.vocab_size());
  CHECK(restored->to_json() == chars.to_json());
  CHECK(restored->encode("z\u20ac\n") == chars.encode("z\u20ac\n"));
  const auto bytes = tokenizer_from_json(ByteTokenizer().to_json());
  CHECK(bytes->vocab_size() == 256);
  CHECK(bytes->to_json() == ByteTokenizer().to_json());
}

TEST_CASE("JSON that is no tokenizer is refused") {
  for (const auto& json : {""s, "{"s, "[]"s, "{}"s, "{\"type\":1}"s, std::string(100000, '[')}) {
    CHECK_THROWS_WITH(tokenizer_from_json(json),
                      "tokenizer_from_json: not a tokenizer; expected a JSON object with a text \"type\"");
  }
  CHECK_THROWS_WITH(tokenizer_from_json(R"({"type":"bpe"})"),
                    "tokenizer_from_json: unknown kind of tokenizer, bpe; expected byte or char");
  CHECK_THROWS_WITH(
      tokenizer_from_json(R"({"type":"char","characters":["a"]})"),
      "tokenizer_from_json: a char tokenizer without its characters; expected text \"characters\"");
}
