#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/text/text_stream.h>
#include <heed/text/utf8.h>

using heed::text::ByteTokenizer;
using heed::text::TextStream;

namespace {

// What each byte of a text makes certain, and at last what waited.
std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops = {}) {
  const ByteTokenizer bytes;
  TextStream stream(bytes, stops);
  std::vector<std::string> result;
  for (const std::int64_t token : bytes.encode(text)) result.push_back(stream.push(token));
  result.push_back(stream.finish());
  return result;
}

std::string joined(const std::string& text, const std::vector<std::string>& stops = {}) {
  std::string all;
  for (const std::string& piece : pieces(text, stops)) all += piece;
  return all;
}

}  // namespace

TEST_CASE("characters come whole", "[report-43]") {
  const std::string text = "na\u00efve \u20ac5 \U0001F600.";
  for (const std::string& piece : pieces(text)) CHECK_NOTHROW(heed::text::decode_utf8(piece, "test"));
  CHECK(joined(text) == text);
  CHECK(pieces("\u20ac5") == std::vector<std::string>{"", "", "\u20ac", "5", ""});
}

TEST_CASE("bytes that are no text come through unchanged", "[report-43]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(joined(all) == all);
  CHECK(joined("\xE2\x82") == "\xE2\x82");  // cut in the middle: handed out at the end
  CHECK(pieces("\xE2\x82x") == std::vector<std::string>{"", "", "\xE2\x82x", ""});
  CHECK(pieces("\x80\x80\x80\x80\x80").front() == "\x80");  // no lead byte to wait for
}

TEST_CASE("text ends at the first stop string, wherever tokens are cut") {
  CHECK(joined("one two three", {"two"}) == "one ");
  CHECK(joined("one two three", {"three", " t"}) == "one");
  CHECK(joined("one", {"never"}) == "one");
  CHECK(joined("nevnever more", {"never"}) == "nev");
  CHECK(joined("ends in nev", {"never"}) == "ends in nev");
  CHECK(joined("aaab", {"aab"}) == "a");
  CHECK(pieces("a<|x", {"<|end|>"}) == std::vector<std::string>{"a", "", "", "<|x", ""});
  const ByteTokenizer bytes;
  TextStream stream(bytes, {"."});
  CHECK(stream.push('a') == "a");
  CHECK_FALSE(stream.stopped());
  CHECK(stream.push('.').empty());
  CHECK(stream.stopped());
  CHECK(stream.push('b').empty());
  CHECK(stream.finish().empty());
  CHECK_THROWS_AS(TextStream(bytes, {""}), heed::ValueError);
}
