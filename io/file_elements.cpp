#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include <heed/core/elements.h>
#include <heed/io/file_elements.h>

namespace heed::io::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

struct ElementType {
  std::string_view name;
  std::size_t size;
  DType dtype;  // of the tensor it is read into
};
constexpr std::array<ElementType, 13> element_types = {{{"F64", 8, DType::f64},
                                                        {"F32", 4, DType::f32},
                                                        {"F16", 2, DType::f32},
                                                        {"BF16", 2, DType::f32},
                                                        {"I64", 8, DType::i64},
                                                        {"I32", 4, DType::i32},
                                                        {"I16", 2, DType::i32},
                                                        {"I8", 1, DType::i32},
                                                        {"U64", 8, DType::i64},
                                                        {"U32", 4, DType::i64},
                                                        {"U16", 2, DType::i32},
                                                        {"U8", 1, DType::i32},
                                                        {"BOOL", 1, DType::boolean}}};

const ElementType* find_type(std::string_view name) noexcept {
  const auto* found = std::find_if(element_types.begin(), element_types.end(),
                                   [&](const ElementType& type) { return type.name == name; });
  return found == element_types.end() ? nullptr : found;
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// IEEE half: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal: fraction · 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 31 ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

std::int64_t from_u64(std::uint64_t value) {
  if (value > INT64_MAX) throw ElementProblem(fmt::format("holds {}, more than an i64 can", value));
  return static_cast<std::int64_t>(value);
}

bool from_bool(std::uint8_t value) {
  if (value > 1) throw ElementProblem(fmt::format("is boolean and holds {}", value));
  return value == 1;
}

template <class From, class Convert>
void convert(std::span<const std::byte> bytes, Tensor& y, Convert&& convert_one) {
  using To = decltype(convert_one(From{}));
  To* out = y.mutable_data<To>();
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof(From), sizeof(From));
    out[i] = convert_one(value);
  }
}

template <class From, class To>
void widen(std::span<const std::byte> bytes, Tensor& y) {
  convert<From>(bytes, y, [](From value) { return static_cast<To>(value); });
}

}  // namespace

std::size_t file_element_size(std::string_view type) noexcept {
  const ElementType* found = find_type(type);
  return found == nullptr ? 0 : found->size;
}

bool has_tensor_layout(std::string_view type) noexcept {
  return type == "F64" || type == "F32" || type == "I64" || type == "I32";
}

DType dtype_of_file(std::string_view type) { return find_type(type)->dtype; }

Tensor from_file_elements(std::span<const std::byte> bytes, std::string_view type, const Shape& shape) {
  const ElementType& known = *find_type(type);
  Tensor y = empty(shape, known.dtype);
  if (bytes.empty()) return y;
  if (type == "F16") {
    convert<std::uint16_t>(bytes, y, from_f16);
  } else if (type == "BF16") {
    convert<std::uint16_t>(bytes, y, from_bf16);
  } else if (type == "I8") {
    widen<std::int8_t, std::int32_t>(bytes, y);
  } else if (type == "U8") {
    widen<std::uint8_t, std::int32_t>(bytes, y);
  } else if (type == "I16") {
    widen<std::int16_t, std::int32_t>(bytes, y);
  } else if (type == "U16") {
    widen<std::uint16_t, std::int32_t>(bytes, y);
  } else if (type == "U32") {
    widen<std::uint32_t, std::int64_t>(bytes, y);
  } else if (type == "U64") {
    convert<std::uint64_t>(bytes, y, from_u64);
  } else if (type == "BOOL") {
    convert<std::uint8_t>(bytes, y, from_bool);
  } else {
    std::memcpy(y.storage()->data(), bytes.data(), bytes.size());
  }
  return y;
}

}  // namespace heed::io::detail
