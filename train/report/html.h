#pragma once

#include <string>
#include <string_view>

namespace heed::train::report {

/// Text for the inside of an element or of a quoted attribute: & < > " ' become entities; malformed UTF-8 and
/// control characters other than tab and newline become U+FFFD.
std::string escape_html(std::string_view text);

/// A token as it is shown, not escaped: space ␣, newline ↵, tab ⇥, other control characters and bytes that
/// are no UTF-8 character as x0A-like numbers.
std::string visible_token(std::string_view token);

}  // namespace heed::train::report
