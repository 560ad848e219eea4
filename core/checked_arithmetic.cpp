#include <limits>

#include <fmt/format.h>

#include <heed/core/checked_arithmetic.h>
#include <heed/core/error.h>

namespace heed {
namespace {

[[noreturn]] void fail_overflow(std::string_view op, std::string_view what, std::int64_t a, char sign,
                                std::int64_t b) {
  fail<ShapeError>(op, "number too large", fmt::format("{} is {} {} {}", what, a, sign, b),
                   "a number of 64 bits");
}

}  // namespace

std::int64_t checked_add(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_overflow(op, what, a, '+', b);
  return sum;
}

std::int64_t checked_mul(std::string_view op, std::string_view what, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_overflow(op, what, a, '*', b);
  return product;
}

std::int64_t saturating_sub(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

void check_fits_i32(std::string_view op, std::string_view what, std::int64_t value) {
  if (value == static_cast<std::int32_t>(value)) return;
  fail<ValueError>(op, "number too large for the dtype", fmt::format("{} is {}", what, value), "an i32");
}

}  // namespace heed
