#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace heed {

// Sums and products of sizes, positions and counts that a caller gave: any 64-bit number may come.

/// a + b or a · b; ShapeError that names `op` and `what` where that is beyond 64 bits.
std::int64_t checked_add(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b);
std::int64_t checked_mul(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b);

/// a − b, clamped to 64 bits: for bounds, where every number beyond the end means the same.
std::int64_t saturating_sub(std::int64_t a, std::int64_t b) noexcept;

/// A floating number as an integer: the fraction is dropped, a number outside the range of `To` becomes the
/// nearest one inside, and NaN becomes 0.
template <class To, class From>
To saturated(From value) {
  // Both bounds as the floating type holds them; the upper one may round up, hence >=.
  if (value != value) return 0;
  if (value >= static_cast<From>((std::numeric_limits<To>::max)())) return (std::numeric_limits<To>::max)();
  if (value <= static_cast<From>((std::numeric_limits<To>::min)())) return (std::numeric_limits<To>::min)();
  return static_cast<To>(value);
}

/// ValueError that names `op` and `what` unless an i32 holds the value.
void check_fits_i32(std::string_view op, std::string_view what, std::int64_t value);

}  // namespace heed
