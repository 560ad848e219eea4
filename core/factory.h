#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

#include <heed/core/elements.h>
#include <heed/core/tensor.h>

namespace heed {

Tensor full(const Shape& shape, Scalar value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

/// start, start+step, … below stop (above it for a negative step). ValueError for a step of 0.
Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step = 1, DType dtype = DType::i64);

/// Identity matrix [n, n].
Tensor eye(std::int64_t n, DType dtype = DType::f32);

/// A tensor of `shape` with the given elements in row-major order; the dtype is that of T. ShapeError unless
/// the numbers of elements agree.
template <class T>
Tensor from_span(std::span<const T> values, const Shape& shape);

/// `tensor({1.0, 2.0, 3.0})` is f64 [3]; `tensor({1.f, 2.f}, {2, 1})` is f32 [2, 1].
template <class T>
Tensor tensor(std::initializer_list<T> values) {
  return from_span(std::span<const T>(values.begin(), values.size()),
                   {static_cast<std::int64_t>(values.size())});
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const Shape& shape) {
  return from_span(std::span<const T>(values.begin(), values.size()), shape);
}

/// A tensor without axes, of the dtype of T.
template <class T>
Tensor scalar(T value) {
  return from_span(std::span<const T>(&value, 1), {});
}

/// A row-major tensor over memory of the caller's; `release` is called when the last view of it is gone.
Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> release = {});

}  // namespace heed
