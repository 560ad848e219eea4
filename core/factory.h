#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <type_traits>

#include <heed/core/elements.h>
#include <heed/core/tensor.h>

namespace heed {

Tensor full(const Shape& shape, Scalar value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
/// Of the shape and dtype of x, without its history.
Tensor full_like(const Tensor& x, Scalar value);
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

namespace detail {

/// Element type of a list, or of the lists within it: float for std::vector<std::array<float, 2>>.
template <class L>
struct ListElement {};
template <class L>
requires requires { typename L::value_type; }
struct ListElement<L>
    : std::conditional_t<Element<typename L::value_type>, std::type_identity<typename L::value_type>,
                         ListElement<typename L::value_type>> {};

template <class L>
concept List = requires {
  typename ListElement<L>::type;
};
template <class L>
concept FlatList = List<L> && Element<typename L::value_type>;
template <class L>
concept ContiguousList = FlatList<L> && requires(const L& list) {
  list.data();
};

void check_list_count(std::size_t count, const Shape& shape);
void check_list_size(std::size_t size, const Shape& shape, int axis);

/// The size of a list, of the first list within it, and so on; an empty list ends the shape.
template <List L>
void append_sizes(const L& list, Shape& shape) {
  shape.push_back(static_cast<std::int64_t>(list.size()));
  if constexpr (!FlatList<L>) {
    if (list.begin() != list.end()) append_sizes(*list.begin(), shape);
  }
}

/// Writes the elements of lists within lists one after the other; returns where the next one would stand.
template <class T, List L>
T* write_elements(const L& list, const Shape& shape, int axis, T* at) {
  check_list_size(list.size(), shape, axis);
  for (const auto& element : list) {
    if constexpr (FlatList<L>) {
      *at++ = element;
    } else {
      at = write_elements(element, shape, axis + 1, at);
    }
  }
  return at;
}

template <List L>
Tensor from_lists(const L& list) {
  using T = typename ListElement<L>::type;
  Shape shape;
  append_sizes(list, shape);
  Tensor y = empty(shape, dtype_of<T>);
  write_elements(list, shape, 0, y.mutable_data<T>());
  return y;
}

}  // namespace detail

/// The same for a vector, an array or a span that may be written to.
template <detail::ContiguousList L>
Tensor from_span(const L& values, const Shape& shape) {
  return from_span(std::span<const typename L::value_type>(values.data(), values.size()), shape);
}

/// `tensor({1.0, 2.0, 3.0})` is f64 [3], `tensor({1.0f, 2.0f})` f32 [2], and
/// `tensor({{1, 2, 3}, {4, 5, 6}})` i32 [2, 3].
/// ShapeError for lists within a list that differ in length.
template <Element T>
Tensor tensor(std::initializer_list<T> values) {
  return from_span(std::span<const T>(values.begin(), values.size()),
                   {static_cast<std::int64_t>(values.size())});
}
template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows) {
  return detail::from_lists(rows);
}
template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks) {
  return detail::from_lists(blocks);
}

/// The elements of a std::vector, std::array or std::span, and of such lists within lists: a
/// std::vector<std::vector<float>> gives f32 [rows, columns].
/// ShapeError for lists within a list that differ in length.
template <detail::List L>
Tensor tensor(const L& list) {
  return detail::from_lists(list);
}

/// The elements of a list in row-major order, such as `tensor({1.0f, 2.0f}, {2, 1})` or
/// `tensor(vector, {rows, columns})`. ShapeError unless the numbers of elements agree.
template <detail::FlatList L>
Tensor tensor(const L& values, const Shape& shape) {
  using T = typename L::value_type;
  detail::check_list_count(values.size(), shape);
  Tensor y = empty(shape, dtype_of<T>);
  T* at = y.mutable_data<T>();
  for (const auto& value : values) *at++ = value;
  return y;
}
template <Element T>
Tensor tensor(std::initializer_list<T> values, const Shape& shape) {
  return tensor(std::span<const T>(values.begin(), values.size()), shape);
}

/// A tensor without axes, of the dtype of T.
template <class T>
Tensor scalar(T value) {
  return from_span(std::span<const T>(&value, 1), {});
}

/// A row-major tensor over memory of the caller's; `release` is called when the last view of it is gone.
Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> release = {});

}  // namespace heed
