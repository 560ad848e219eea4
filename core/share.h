#pragma once

#include <algorithm>
#include <cstdint>

namespace heed {

/// One of several parts of a whole, as equal as possible: if there is a remainder, the first parts have
/// one element more.
struct Share {
  std::int64_t part = 0;
  std::int64_t of = 1;

  /// Where this part of `total` things begins, and how many they are.
  std::int64_t first(std::int64_t total) const { return part * (total / of) + (std::min)(part, total % of); }
  std::int64_t count(std::int64_t total) const { return total / of + (part < total % of ? 1 : 0); }
};

}  // namespace heed
