#pragma once

#include <cstdint>

namespace heed::text {

/// So many ids fit into two bytes, and into four.
inline constexpr std::int64_t most_narrow_ids = std::int64_t{1} << 16;
inline constexpr std::int64_t most_ids = std::int64_t{1} << 32;

}  // namespace heed::text
