#pragma once

#include <string>
#include <string_view>

namespace heed::train::report {

/// Text for the content of an element or a quoted attribute: & < > " ' become entities; malformed UTF-8 and
/// control characters other than tab and newline become U+FFFD.
std::string escape_html(std::string_view text);

/// A token made visible, not escaped. A space is shown as ␣, a newline as ↵, a tab as ⇥, and other control
/// characters and bytes that are not UTF-8 by their number, such as \xE2\x88. A code point that would be
/// blank is shown by its name, such as ‹ZWJ›, unless it joins or varies characters of this token. A
/// combining mark without a character to stand on gets a dotted circle.
std::string visible_token(std::string_view token);

}  // namespace heed::train::report
