#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::detail {

/// A position may be any 64-bit number, so sums with one need more bits.
__extension__ typedef __int128 Position;

/// The position, clamped to 0 … keys: where a range of keys that begins or ends there does so.
inline std::int64_t among_keys(Position position, std::int64_t keys) {
  return static_cast<std::int64_t>(std::clamp<Position>(position, 0, keys));
}

/// The elements of an i32 or i64 tensor.
std::vector<std::int64_t> integers_of(const Tensor& x);

}  // namespace heed::detail
