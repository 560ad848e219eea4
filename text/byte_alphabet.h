#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace heed::text {

/// GPT-2's way to write any bytes as printable text. A printable byte (33–126, 161–172, 174–255) becomes
/// the Unicode character of the same number; the other 68 bytes become U+0100 … U+0143, in ascending order.
/// A space becomes `Ġ`.
std::string to_byte_alphabet(std::string_view bytes);

/// The inverse; none when a character does not belong to the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

/// The bytes in the order of their characters, which is the order of their ids in GPT-2's vocabulary.
const std::array<unsigned char, 256>& byte_alphabet_order();

}  // namespace heed::text
