#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::io::detail {

/// An element that no tensor of heed can hold; the reader adds the file's name.
struct ElementProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes of one element of a type that files have: F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL, as safetensors
/// calls them; 0 for another name.
std::size_t file_element_size(std::string_view type) noexcept;

/// The dtype that elements of this type are read as: F16 and BF16 become f32; I8, U8, I16 and U16 become i32; U32 and
/// U64 become i64; the others are their own.
DType dtype_of_file(std::string_view type);

/// Whether elements of this type lie in a file as they lie in a tensor: F64 F32 I64 I32.
bool lies_as_in_tensors(std::string_view type) noexcept;

/// A row-major tensor of its own memory, made of little-endian elements that need not be aligned. `bytes` hold as many as
/// `shape` has.
/// Throws    ElementProblem for a BOOL other than 0 and 1 and for a U64 beyond i64.
Tensor from_file_elements(std::span<const std::byte> bytes, std::string_view type, const Shape& shape);

}  // namespace heed::io::detail
