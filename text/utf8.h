#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

/// The length in bytes of the well-formed UTF-8 character at `offset`. 0 where the bytes do not form one: a
/// stray, truncated or overlong sequence, a surrogate, a code above U+10FFFF, or the end of the text.
std::size_t utf8_length(std::string_view text, std::size_t offset);

/// The code points of UTF-8 text. `op` names the caller in errors.
/// Throws    ValueError naming the offset of the first malformed byte.
std::vector<char32_t> decode_utf8(std::string_view text, std::string_view op);

/// Appends the UTF-8 form of one code point.
void append_utf8(std::string& text, char32_t code);

}  // namespace heed::text
