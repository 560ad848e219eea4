#pragma once

#include <string>

namespace heed::train::report {

/// Whether a code point is drawn on the one before it: an accent, a vowel sign, a variation selector.
bool is_combining_mark(char32_t code);

/// A short name for a code point that shows as nothing or as a gap: `ZWJ`, `NBSP`, `VS16`, and `U+2003`
/// where there is no usual name. Empty for all others. Controls and the space U+0020 are not among them.
std::string name_of_invisible(char32_t code);

}  // namespace heed::train::report
