#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace heed {

// Sums and products of sizes, positions and counts that a caller gave: any 64-bit number may come.

/// a + b or a · b; ShapeError that names `op` and `what` where that is beyond 64 bits.
std::int64_t checked_add(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b);
std::int64_t checked_mul(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b);

/// a − b, or the last number of 64 bits on its side: for bounds, where beyond the end is beyond it.
std::int64_t saturating_sub(std::int64_t a, std::int64_t b) noexcept;

/// A floating number as an integer: the fraction is dropped, what lies beyond an end becomes it, NaN 0.
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
