#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::detail {

/// A position may be any number of 64 bits, so what is added to one needs more.
__extension__ typedef __int128 Position;

/// Where a range of keys that begins or ends at this position does so among keys 0 … keys − 1.
inline std::int64_t among_keys(Position position, std::int64_t keys) {
  return static_cast<std::int64_t>(std::clamp<Position>(position, 0, keys));
}

/// The elements of an i32 or i64 tensor.
std::vector<std::int64_t> integers_of(const Tensor& x);

}  // namespace heed::detail
