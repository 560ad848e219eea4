#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <heed/text/byte_alphabet.h>
#include <heed/text/utf8.h>

namespace heed::text {
namespace {

constexpr char32_t first_other = 0x100;

constexpr bool prints(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

// The character of each byte.
constexpr std::array<char32_t, 256> alphabet = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = first_other;
  for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = prints(byte) ? byte : next++;
  return characters;
}();

// The byte of each character of the alphabet, −1 for others; the alphabet ends below 0x144.
constexpr std::array<std::int16_t, 0x144> bytes_of_characters = [] {
  std::array<std::int16_t, 0x144> bytes{};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < alphabet.size(); ++byte) {
    bytes[alphabet[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, alphabet[static_cast<unsigned char>(c)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = utf8_length(text, offset);
    if (length == 0 || length > 2) return std::nullopt;
    const auto first = static_cast<unsigned char>(text[offset]);
    const std::size_t code =
        length == 1 ? first : (first & 0x1Fu) << 6 | (static_cast<unsigned char>(text[offset + 1]) & 0x3Fu);
    if (code >= bytes_of_characters.size() || bytes_of_characters[code] < 0) return std::nullopt;
    bytes += static_cast<char>(bytes_of_characters[code]);
    offset += length;
  }
  return bytes;
}

const std::array<unsigned char, 256>& byte_alphabet_order() {
  static const auto order = [] {
    std::array<unsigned char, 256> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
    std::stable_sort(bytes.begin(), bytes.end(),
                     [](unsigned char a, unsigned char b) { return alphabet[a] < alphabet[b]; });
    return bytes;
  }();
  return order;
}

}  // namespace heed::text
