#pragma once

#include <string>

#include <heed/core/tensor.h>

namespace heed::io {

/// Reads the array of a NumPy file (.npy, versions 1 to 3) into a new row-major tensor.
/// Types     <f4 <f8 <i4 <i8 |b1 become f32, f64, i32, i64 and boolean; <f2 becomes f32; |i1 |u1 <i2
///           <u2 become i32; <u4 and <u8 become i64. The file may be in row-major (C) or
///           column-major (Fortran) order.
/// Throws    IoError naming the file: it cannot be read; its header is not as NumPy writes it; the type or
///           byte order is another one; there are more axes than a tensor can have; its length does not fit
///           the shape; a truth value is not 0 or 1; a <u8 is beyond i64. No memory is allocated for a size
///           that the file claims but does not have.
Tensor load_npy(const std::string& path);

/// Writes a tensor as a version 1.0 file in row-major order, whole or not at all.
/// Throws    DTypeError (bf16, which NumPy does not have), IoError.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace heed::io
