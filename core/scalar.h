#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <heed/core/checked_arithmetic.h>

namespace heed {

/// A C++ number given to an operation; it takes the tensor's dtype. Implicit from every arithmetic type, so
/// that `x * 2`, `x * 2.0` and `x * 2.0f` mean the same.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(
      T value)  // NOLINT(google-explicit-constructor): implicit on purpose
      : integral_(std::is_integral_v<T> && fits(value)),
        integer_(integral_ ? static_cast<std::int64_t>(value) : 0),
        real_(static_cast<double>(value)) {}

  bool is_integral() const { return integral_; }
  /// As an element. For an integer T a real number loses its fraction and is clamped to the range of T, and
  /// NaN becomes 0; ValueError for an integer that T does not hold.
  template <class T>
  T to() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!integral_) return saturated<T>(real_);
      if constexpr (sizeof(T) < sizeof(integer_)) check_fits_i32("scalar", "the number", integer_);
    }
    return integral_ ? static_cast<T>(integer_) : static_cast<T>(real_);
  }

 private:
  // Only unsigned integers beyond the range of std::int64_t do not fit; they are kept as real numbers.
  template <class T>
  static constexpr bool fits(T value) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::uint64_t)) {
      return value <= static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    }
    return true;
  }

  bool integral_;
  std::int64_t integer_;
  double real_;
};

}  // namespace heed
