#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace heed::text {

/// GPT-2's way to write any bytes as printable text: a byte that prints (33–126, 161–172, 174–255) stands for itself as a
/// Unicode character, the other 68 are U+0100 … U+0143 in their order. A space becomes `Ġ`.
std::string to_byte_alphabet(std::string_view bytes);

/// The bytes again; none when a character is not of the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

/// The bytes in the order of their characters, which is that of their ids in GPT-2's vocabulary.
const std::array<unsigned char, 256>& byte_alphabet_order();

}  // namespace heed::text
