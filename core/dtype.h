#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <heed/core/error.h>

namespace heed {

/// Element types. `bf16` is reserved for storage and products; no operation accepts it yet.
enum class DType : std::uint8_t { boolean, i32, i64, f32, f64, bf16 };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::i64:
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "boolean";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
  }
  return "unknown";
}

constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }
constexpr bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

template <class T>
struct dtype_of_t;
template <>
struct dtype_of_t<bool> : std::integral_constant<DType, DType::boolean> {};
template <>
struct dtype_of_t<std::int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct dtype_of_t<std::int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct dtype_of_t<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct dtype_of_t<double> : std::integral_constant<DType, DType::f64> {};

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

/// C++ types that are elements of tensors: bool, std::int32_t, std::int64_t, float and double.
template <class T>
concept Element = requires {
  dtype_of_t<T>::value;
};

/// Calls `f(std::type_identity<T>{})` for f32 or f64. Other dtypes must have been refused before.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(std::type_identity<float>{});
  if (dtype == DType::f64) return f(std::type_identity<double>{});
  fail<DTypeError>("visit_floating", "dtype is not floating", name_of(dtype), "f32 or f64");
}

/// Calls `f(std::type_identity<T>{})` for i32, i64, f32 or f64.
template <class F>
decltype(auto) visit_numeric(DType dtype, F&& f) {
  if (dtype == DType::i32) return f(std::type_identity<std::int32_t>{});
  if (dtype == DType::i64) return f(std::type_identity<std::int64_t>{});
  return visit_floating(dtype, f);
}

/// Calls `f(std::type_identity<T>{})` for every dtype that has elements in C++ (all but bf16).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  if (dtype == DType::boolean) return f(std::type_identity<bool>{});
  return visit_numeric(dtype, f);
}

}  // namespace heed
