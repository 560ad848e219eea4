#pragma once

#include <cstddef>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed {

/// Uninitialised row-major tensor without history. OutOfMemory where there is no room for it.
Tensor empty(const Shape& shape, DType dtype = DType::f32);

/// Bytes of the elements of a row-major view; ShapeError that names `op` where there are 2^62 or more.
std::size_t byte_count(std::string_view op, const View& view, DType dtype);

/// Copies elements between tensors of one shape and dtype, whatever their strides. Not recorded.
void copy_elements(const Tensor& source, Tensor& target);

/// A row-major copy of the elements, without history.
Tensor copy_of(const Tensor& x);

/// The element of a floating tensor of one element, as double.
double scalar_of(const Tensor& x);

/// The one operation that core knows: a + b of equal shapes and floating dtype, recorded. Joins gradients.
Tensor accumulate(const Tensor& a, const Tensor& b);

/// a += b on a tensor that nobody else holds.
void accumulate_into(Tensor& a, const Tensor& b);

}  // namespace heed
