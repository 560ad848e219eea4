#include "damage.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace heed::test::fuzz {

std::string Damage::operator()(std::string bytes) {
  for (std::size_t i = below(3) + 1; i > 0 && !bytes.empty(); --i) once(bytes);
  return bytes;
}

void Damage::once(std::string& bytes) {
  static constexpr std::array<std::string_view, 10> pieces = {
      "0", "-1",   "18446744073709551615",   "1e400", "null", "[[[[[[[[[[[[[[[[[[[[", "\"",
      "}", "\xff", std::string_view("\0", 1)};
  const std::size_t at = below(bytes.size());
  const std::size_t length = 1 + below(std::min<std::size_t>(bytes.size() - at, 24));
  switch (below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(below(256));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(below(bytes.size()), bytes.substr(at, length));
      break;
    case 5:
      bytes.insert(at, pieces[below(pieces.size())]);
      break;
    default:
      replace_number(bytes, at);
  }
}

// The next run of digits, by another.
void Damage::replace_number(std::string& bytes, std::size_t at) {
  const std::size_t begin = std::min(bytes.find_first_of("0123456789", at), bytes.size());
  const std::size_t end = std::min(bytes.find_first_not_of("0123456789", begin), bytes.size());
  static constexpr std::array<std::string_view, 8> numbers = {
      "0", "1", "7", "4294967296", "9223372036854775807", "99999999999999999999", "-3", "2.5"};
  bytes.replace(begin, end - begin, numbers[below(numbers.size())]);
}

}  // namespace heed::test::fuzz
