#pragma once

#include <string>
#include <string_view>

namespace heed::train::report {

/// Text for the content of an element or a quoted attribute: & < > " ' become entities; malformed UTF-8 and
/// control characters other than tab and newline become U+FFFD.
std::string escape_html(std::string_view text);

/// A token made visible, not escaped: a space is shown as ␣, a newline as ↵, a tab as ⇥, and other control
/// characters and bytes that are not UTF-8 by their number, such as x0A.
std::string visible_token(std::string_view token);

}  // namespace heed::train::report
