#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::io::detail {

/// An element that no tensor can hold. The reader of the file adds its name to the message.
struct ElementProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bytes of one element of a type that files have, by its name in safetensors: F64 F32 F16 BF16 I64 I32
/// I16 I8 U64 U32 U16 U8 BOOL. 0 for any other name.
std::size_t file_element_size(std::string_view type) noexcept;

/// The dtype that elements of this type are read as: F16 and BF16 become f32; I8, U8, I16 and U16 become
/// i32; U32 and U64 become i64; all others keep their type.
DType dtype_of_file(std::string_view type);

/// Whether the bytes of this type are the same in a file and in a tensor: F64 F32 I64 I32.
bool has_tensor_layout(std::string_view type) noexcept;

/// A new row-major tensor made of little-endian elements, which need not be aligned. `bytes` must hold
/// exactly the elements of `shape`.
/// Throws    ElementProblem (a BOOL other than 0 and 1, a U64 beyond i64).
Tensor from_file_elements(std::span<const std::byte> bytes, std::string_view type, const Shape& shape);

}  // namespace heed::io::detail
