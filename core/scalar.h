#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace heed {

/// A C++ number given to an operation; it takes the tensor's dtype. Implicit from every arithmetic type, so
/// that `x * 2`, `x * 2.0` and `x * 2.0f` mean the same.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(
      T value)  // NOLINT(google-explicit-constructor): implicit on purpose
      : integral_(std::is_integral_v<T>),
        integer_(std::is_integral_v<T> ? static_cast<std::int64_t>(value) : 0),
        real_(static_cast<double>(value)) {}

  bool is_integral() const { return integral_; }
  template <class T>
  T to() const {
    return integral_ ? static_cast<T>(integer_) : static_cast<T>(real_);
  }

 private:
  bool integral_;
  std::int64_t integer_;
  double real_;
};

}  // namespace heed
