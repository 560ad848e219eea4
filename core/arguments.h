#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <heed/core/error.h>
#include <heed/core/tensor.h>

namespace heed {

// Checks of operations' arguments. Each throws the named error with the grammar of `error_message`, naming
// operation, argument, what was given and what was expected.

/// `f32[2, 3]`, for messages.
std::string describe(const Tensor& x);

namespace detail {
[[noreturn]] void fail_undefined(std::string_view op, std::string_view name);
[[noreturn]] void fail_dtype(std::string_view op, std::string_view name, const Tensor& x,
                             std::initializer_list<DType> allowed);
[[noreturn]] void fail_dtypes_differ(std::string_view op, std::string_view name_a, const Tensor& a,
                                     std::string_view name_b, const Tensor& b);
}  // namespace detail

/// ValueError if x is undefined.
inline void check_defined(std::string_view op, std::string_view name, const Tensor& x) {
  if (!x.defined()) [[unlikely]]
    detail::fail_undefined(op, name);
}
/// DTypeError unless x is defined and of one of `allowed`.
void check_dtype(std::string_view op, std::string_view name, const Tensor& x,
                 std::initializer_list<DType> allowed);
/// DTypeError unless x is defined and floating.
inline void check_floating(std::string_view op, std::string_view name, const Tensor& x) {
  if (!x.defined() || !is_floating(x.dtype())) [[unlikely]]
    check_dtype(op, name, x, {DType::f32, DType::f64});
}
/// DTypeError unless x is defined and i32, i64, f32 or f64.
inline void check_numeric(std::string_view op, std::string_view name, const Tensor& x) {
  if (!x.defined() || x.dtype() != DType::f32) [[unlikely]]
    check_dtype(op, name, x, {DType::i32, DType::i64, DType::f32, DType::f64});
}
/// DTypeError, with a hint to cast, unless both are defined and of one dtype.
inline void check_same_dtype(std::string_view op, std::string_view name_a, const Tensor& a,
                             std::string_view name_b, const Tensor& b) {
  check_defined(op, name_a, a);
  check_defined(op, name_b, b);
  if (a.dtype() != b.dtype()) [[unlikely]]
    detail::fail_dtypes_differ(op, name_a, a, name_b, b);
}
/// ShapeError unless the shapes are equal.
void check_same_shape(std::string_view op, std::string_view name_a, const Tensor& a, std::string_view name_b,
                      const Tensor& b);
/// ShapeError unless x has exactly this shape; `why` ends the sentence (such as "the last axis of x").
void check_shape(std::string_view op, std::string_view name, const Tensor& x, const Shape& expected,
                 std::string_view why = {});
/// ShapeError unless min_rank <= rank <= max_rank.
void check_rank(std::string_view op, std::string_view name, const Tensor& x, int min_rank,
                int max_rank = Shape::max_rank);
/// ShapeError unless x expands to `shape`.
void check_expands(std::string_view op, std::string_view name, const Tensor& x, const Shape& shape);
/// IndexError that names value, position and bound: for class indices, embedding ids, gather.
[[noreturn]] void fail_index(std::string_view op, std::string_view name, std::int64_t value,
                             std::int64_t position, std::int64_t bound);
/// Every element of the integer tensor lies in 0 … bound−1, else `fail_index`. Runs before anything
/// is read through it.
void check_indices(std::string_view op, std::string_view name, const Tensor& indices, std::int64_t bound);
/// ValueError unless `ok`: `op: bad name, name is value; expected expected`.
void check_value(bool ok, std::string_view op, std::string_view name, double value,
                 std::string_view expected);
void check_value(bool ok, std::string_view op, std::string_view name, std::int64_t value,
                 std::string_view expected);

}  // namespace heed
