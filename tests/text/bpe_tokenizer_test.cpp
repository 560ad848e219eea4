#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/io/read_file.h>
#include <heed/text/bpe_tokenizer.h>
#include <heed/text/byte_alphabet.h>
#include <heed/text/text_stream.h>
#include <heed/text/utf8.h>

namespace fs = std::filesystem;
namespace text = heed::text;
using Catch::Contains;
using heed::text::BpeTokenizer;
using heed::text::BpeVocabulary;
using Ids = std::vector<std::int64_t>;

namespace {

// The 256 bytes in their own order, and further tokens by merges.
BpeVocabulary vocabulary(const std::vector<std::pair<std::string, std::string>>& merges) {
  BpeVocabulary v;
  for (int byte = 0; byte < 256; ++byte) v.tokens.emplace_back(1, static_cast<char>(byte));
  const auto id = [&](const std::string& token) {
    return std::find(v.tokens.begin(), v.tokens.end(), token) - v.tokens.begin();
  };
  for (const auto& [left, right] : merges) {
    v.merges.emplace_back(id(left), id(right));
    if (id(left + right) == static_cast<std::int64_t>(v.tokens.size())) v.tokens.push_back(left + right);
  }
  return v;
}

std::string random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes;
  // Some of the alphabet is common, so that merges apply; the rest is anything.
  for (std::size_t i = 0; i < count; ++i)
    bytes += random() % 2 == 0 ? "the cat\n"[random() % 8] : char(random());
  return bytes;
}

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> result;
  text::Gpt2Split()(text, [&](std::string_view piece) { result.emplace_back(piece); });
  return result;
}

}  // namespace

TEST_CASE("text is cut by GPT-2's pattern") {
  using Pieces = std::vector<std::string>;
  CHECK(pieces("").empty());
  CHECK(pieces("Hello world's 2nd day!!") == Pieces{"Hello", " world", "'s", " 2", "nd", " day", "!!"});
  CHECK(pieces("a   b \n") == Pieces{"a", "  ", " b", " \n"});
  CHECK(pieces("it'S") == Pieces{"it", "'", "S"});
  CHECK(pieces("\u00e9t\u00e9 \u4e2d\u6587\u00bd") == Pieces{"\u00e9t\u00e9", " \u4e2d\u6587", "\u00bd"});
  CHECK(pieces("a\u00a0b") == Pieces{"a", "\u00a0", "b"});  // Unicode's spaces are spaces
  // Bytes that are not UTF-8 stand alone, as many as there are.
  CHECK(pieces("ab\xFF\xC3zz") == Pieces{"ab", "\xFF\xC3", "zz"});
  CHECK(pieces("\xE2\x82") == Pieces{"\xE2\x82"});
  std::string all;
  const std::string bytes = random_bytes(20'000, 3);
  for (const std::string& piece : pieces(bytes)) all += piece;
  CHECK(all == bytes);
  // Long runs of one kind take one step, not the stack.
  CHECK(pieces(std::string(1'000'000, 'x')).size() == 1);
  CHECK(pieces(std::string(1'000'000, ' ') + "x").size() == 2);
}

// Of cc!, white space c is a piece by itself: the blank before the last one stands alone.
// Anything else doubles.
TEST_CASE("white space is what Unicode's White_Space says, of all code points", "[fault-29]") {
  const auto is_white = [](char32_t c) {
    return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
  };
  const text::Gpt2Split split;
  std::vector<char32_t> wrong;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string one;
    text::append_utf8(one, c);
    std::vector<std::string> cut;
    split(one + one + "!", [&](std::string_view piece) { cut.emplace_back(piece); });
    if ((cut.at(0) == one) != is_white(c)) wrong.push_back(c);
  }
  CHECK(wrong.empty());
  CHECK(pieces(" \u180e!") == std::vector<std::string>{" \u180e!"});
}

TEST_CASE("the byte alphabet goes both ways") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = text::to_byte_alphabet(all);
  CHECK(text::from_byte_alphabet(text) == all);
  CHECK(text::to_byte_alphabet(" A\n\xE9") == "\u0120A\u010a\u00e9");
  for (const char* bad : {" ", "\n", "\u0144", "\u4e2d", "\xFF", "\u00ad "}) {
    CAPTURE(bad);
    CHECK_FALSE(text::from_byte_alphabet(bad));
  }
  CHECK(text::byte_alphabet_order()[0] == '!');
  CHECK(text::byte_alphabet_order()[188] == 0);  // the first that does not print
}

TEST_CASE("equal parts join from the left, earlier merges first", "[report-43]") {
  const BpeTokenizer doubled(vocabulary({{"a", "a"}}));
  CHECK(doubled.encode("aaa") == Ids{256, 'a'});
  CHECK(doubled.encode("aaaa") == Ids{256, 256});
  // bc joins before ab, though ab stands further left; two merges may lead to one token.
  const BpeTokenizer order(vocabulary({{"b", "c"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}}));
  CHECK(order.encode("abc") == Ids{258});
  CHECK(order.vocab_size() == 259);
  CHECK(order.encode("ab") == Ids{257});
  CHECK(order.encode("abab") == Ids{257, 257});
  // Merges do not reach over the borders of pieces.
  const BpeTokenizer spaced(vocabulary({{"a", " "}, {" ", "b"}}));
  CHECK(spaced.encode("a b") == Ids{'a', 257});
  // A long piece takes time that grows with its length, not with its square.
  CHECK(doubled.encode(std::string(1'000'000, 'a')).size() == 500'000);
}

TEST_CASE("training joins the most frequent pair, of equals the lowest") {
  const BpeVocabulary v = text::train_bpe("aa ab ab ab aa aa ac", {.vocab_size = 260});
  const auto joined = [&](std::size_t merge) { return v.tokens[256 + merge]; };
  REQUIRE(v.merges.size() == 3);
  CHECK(joined(0) == " a");   // six times; at the text's start there is no blank
  CHECK(joined(1) == " ab");  // three times, before " aa", twice
  CHECK(joined(2) == " aa");
  CHECK(v.tokens.size() == 259);  // nothing else comes twice
}

TEST_CASE("training is deterministic and what it learns is what encodes") {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "The owls of the mill sing; the owl's song isn't long. " + std::to_string(i * 37);
  std::vector<std::int64_t> progress;
  const text::BpeTrainOptions options = {
      .vocab_size = 300,
      .on_progress = [&](std::int64_t tokens, std::int64_t) { progress.push_back(tokens); }};
  const BpeVocabulary first = text::train_bpe(text, options);
  CHECK(first.tokens.size() == 300);
  CHECK(progress.size() == 44);
  CHECK(progress.back() == 300);
  const BpeVocabulary second = text::train_bpe(text, {.vocab_size = 300});
  CHECK(second.tokens == first.tokens);
  CHECK(second.merges == first.merges);
  const BpeTokenizer tokenizer(first);
  const Ids ids = tokenizer.encode(text);
  CHECK(tokenizer.decode(ids) == text);
  CHECK(ids.size() * 2 < text.size());
  CHECK(text::train_bpe("", {.vocab_size = 300}).tokens.size() == 256);
  CHECK(text::train_bpe("ab", {.vocab_size = 300, .min_count = 1}).tokens.size() == 257);
  CHECK_THROWS_AS(text::train_bpe("ab", {.vocab_size = 255}), heed::ValueError);
  CHECK_THROWS_AS(text::train_bpe("ab", {.min_count = 0}), heed::ValueError);
}

TEST_CASE("any bytes come back, streamed ones too", "[report-43]") {
  std::string all = "na\u00efve \u20ac5 \U0001F600\r\n";
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const BpeTokenizer tokenizer(text::train_bpe(random_bytes(50'000, 1), {.vocab_size = 400}));
  for (const std::string& bytes :
       {all, random_bytes(100'000, 2), std::string("\xEF\xBB\xBF"), std::string(3, '\0')}) {
    const Ids ids = tokenizer.encode(bytes);
    CHECK(tokenizer.decode(ids) == bytes);
    text::TextStream stream(tokenizer);
    std::string streamed;
    for (const std::int64_t id : ids) streamed += stream.push(id);
    CHECK(streamed + stream.finish() == bytes);
  }
  CHECK_THROWS_AS(tokenizer.decode(Ids{0, 400}), heed::IndexError);
}

TEST_CASE("a whole book comes back", "[report-43]") {
  const fs::path book = fs::path(HEED_SHARED_DIR) / "data" / "tinyshakespeare.txt";
  if (!fs::exists(book)) {
    WARN("skipped: " << book << " is not there");
    return;
  }
  const std::string text = heed::io::read_file(book);
  const BpeTokenizer tokenizer(text::train_bpe(text, {.vocab_size = 1024}));
  CHECK(tokenizer.vocab_size() == 1024);
  const Ids ids = tokenizer.encode(text);
  CHECK(tokenizer.decode(ids) == text);
  CHECK(ids.size() * 12 < text.size() * 5);  // more than 2.4 bytes a token
  const auto again = text::tokenizer_from_json(tokenizer.to_json());
  CHECK(again->encode(text) == ids);
}

TEST_CASE("a vocabulary that cannot be one is refused") {
  BpeVocabulary v = vocabulary({{"a", "b"}});
  v.tokens.erase(v.tokens.begin() + 7);
  CHECK_THROWS_WITH(BpeTokenizer(v), Contains("a byte has no token") && Contains("0x07"));
  v = vocabulary({});
  v.tokens.emplace_back("a");
  CHECK_THROWS_WITH(BpeTokenizer(v), Contains("twice") && Contains("'a'"));
  v = vocabulary({{"a", "b"}, {"a", "b"}});
  CHECK_THROWS_WITH(BpeTokenizer(v), Contains("a merge comes twice"));
  v = vocabulary({});
  v.merges.emplace_back('a', 'b');
  CHECK_THROWS_WITH(BpeTokenizer(v), Contains("a merge to what is no token, 'ab'"));
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{256}, INT64_MAX}) {
    v = vocabulary({});
    v.merges.emplace_back('a', bad);
    CHECK_THROWS_WITH(BpeTokenizer(v), Contains("a merge of what is no token"));
  }
}
