#include <cstddef>

#include <fmt/format.h>

#include <heed/text/utf8.h>
#include <heed/train/report/html.h>

namespace heed::train::report {
namespace {

bool is_control(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return byte < 0x20 || byte == 0x7F;
  return character.size() == 2 && byte == 0xC2 &&
         static_cast<unsigned char>(character[1]) < 0xA0;  // U+0080..9F
}

// Calls visit(character, well_formed) for each character; a byte that is not part of a well-formed
// character is passed alone.
template <class Visit>
void each_character(std::string_view text, Visit visit) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = text::utf8_length(text, offset);
    visit(text.substr(offset, length == 0 ? 1 : length), length != 0);
    offset += length == 0 ? 1 : length;
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  each_character(text, [&html](std::string_view character, bool well_formed) {
    const char first = character[0];
    if (!well_formed || (is_control(character) && first != '\n' && first != '\t')) {
      html += "\uFFFD";
    } else if (first == '&') {
      html += "&amp;";
    } else if (first == '<') {
      html += "&lt;";
    } else if (first == '>') {
      html += "&gt;";
    } else if (first == '"') {
      html += "&quot;";
    } else if (first == '\'') {
      html += "&#39;";
    } else {
      html += character;
    }
  });
  return html;
}

std::string visible_token(std::string_view token) {
  std::string shown;
  each_character(token, [&shown](std::string_view character, bool well_formed) {
    if (character == " ") {
      shown += "\u2423";
    } else if (character == "\n") {
      shown += "\u21B5";
    } else if (character == "\t") {
      shown += "\u21E5";
    } else if (!well_formed || is_control(character)) {
      for (const char byte : character) shown += fmt::format("x{:02X}", static_cast<unsigned char>(byte));
    } else {
      shown += character;
    }
  });
  return shown;
}

}  // namespace heed::train::report
