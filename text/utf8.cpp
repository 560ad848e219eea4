#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

unsigned byte_at(std::string_view text, std::size_t offset) {
  return static_cast<unsigned char>(text[offset]);
}

char32_t read_code(std::string_view text, std::size_t offset, std::size_t length) {
  constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = byte_at(text, offset) & lead_bits[length];
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte_at(text, offset + i) & 0x3F);
  return code;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return 0;
  const unsigned lead = byte_at(text, offset);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - offset < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, offset + i) & 0xC0) != 0x80) return 0;
  }
  const char32_t code = read_code(text, offset, length);
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

std::vector<char32_t> decode_utf8(std::string_view text, std::string_view op) {
  std::vector<char32_t> codes;
  codes.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = utf8_length(text, offset);
    if (length == 0) {
      fail<ValueError>(op, "the text is not UTF-8",
                       fmt::format("byte 0x{:02X} at offset {}", byte_at(text, offset), offset));
    }
    codes.push_back(read_code(text, offset, length));
    offset += length;
  }
  return codes;
}

void append_utf8(std::string& text, char32_t code) {
  const int tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr char32_t lead_marks[] = {0x00, 0xC0, 0xE0, 0xF0};
  text.push_back(static_cast<char>(lead_marks[tails] | code >> (6 * tails)));
  for (int left = tails - 1; left >= 0; --left) {
    text.push_back(static_cast<char>(0x80 | (code >> (6 * left) & 0x3F)));
  }
}

}  // namespace heed::text
