#pragma once

#include <string>

#include <heed/core/tensor.h>

namespace heed::io {

/// The array of a NumPy file (.npy, versions 1 to 3) as a row-major tensor of its own memory.
/// Types     <f4 <f8 <i4 <i8 |b1 become f32, f64, i32, i64 and boolean; <f2 becomes f32; |i1 |u1 <i2 <u2 become i32;
///           <u4 and <u8 become i64. Row-major (C) and column-major (Fortran) order.
/// Throws    IoError naming the file: it cannot be read, its header is not as NumPy writes it, another type or byte order,
///           more axes than a tensor can have, a length that is not the shape's, a truth value other than 0 and 1, a <u8
///           beyond i64. Nothing is allocated by a number that the file merely claims.
Tensor load_npy(const std::string& path);

/// Writes a tensor as a version 1.0 file in row-major order, whole or not at all.
/// Throws    DTypeError for bf16, which NumPy has not; IoError.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace heed::io
