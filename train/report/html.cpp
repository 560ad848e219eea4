#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <heed/text/utf8.h>
#include <heed/train/report/code_points.h>
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

// A control character, or a byte that is not UTF-8.
std::string shown_control(std::string_view character) {
  if (character == "\n") return "\u21B5";
  if (character == "\t") return "\u21E5";
  std::string shown;
  for (const char byte : character) shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
  return shown;
}

char32_t code_point(std::string_view character) { return text::decode_utf8(character, "visible_token")[0]; }

bool has_keycap(char32_t code) {  // digits, # and *
  return (code >= 0x30 && code <= 0x39) || code == 0x23 || code == 0x2A;
}

// Whether an invisible code point does its work, so that it is seen: a variation selector after a character
// that has variants, or a joiner between two that are not ASCII, as in the emoji of a family.
bool joins(char32_t code, char32_t before, std::string_view rest) {
  constexpr char32_t zero_width_non_joiner = 0x200C;
  constexpr char32_t zero_width_joiner = 0x200D;
  if (is_combining_mark(code)) return before > 0x7F || has_keycap(before);
  if (code != zero_width_non_joiner && code != zero_width_joiner) return false;
  const std::size_t length = text::utf8_length(rest, 0);
  return before > 0x7F && length > 1 && name_of_invisible(code_point(rest.substr(0, length))).empty();
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
  char32_t before = 0;  // the code point before, if it was shown as it is
  for (std::size_t offset = 0; offset < token.size();) {
    const std::size_t length = text::utf8_length(token, offset);
    const std::string_view character = token.substr(offset, std::max<std::size_t>(length, 1));
    offset += character.size();
    if (length == 0 || is_control(character)) {
      shown += shown_control(character);
      before = 0;
      continue;
    }
    const char32_t code = code_point(character);
    const std::string name = name_of_invisible(code);
    if (!name.empty() && !joins(code, before, token.substr(offset))) {
      shown += "\u2039" + name + "\u203A";
      before = 0;
      continue;
    }
    if (before == 0 && is_combining_mark(code)) shown += "\u25CC";
    shown += code == U' ' ? "\u2423" : character;
    before = code;
  }
  return shown;
}

}  // namespace heed::train::report
