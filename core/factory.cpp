#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/storage.h>

namespace heed {

Tensor full(const Shape& shape, Scalar value, DType dtype) {
  Tensor y = empty(shape, dtype);
  y.fill_(value);
  return y;
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor full_like(const Tensor& x, Scalar value) {
  check_defined("full_like", "x", x);
  return full(x.shape(), value, x.dtype());
}
Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
Tensor ones_like(const Tensor& x) { return full_like(x, 1); }

namespace {

// How many numbers arange gives; ShapeError beyond 64 bits.
std::int64_t count_of(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (start == stop || (stop < start) != (step < 0)) return 0;
  // In unsigned arithmetic, where the distance of any two numbers fits.
  const bool up = step > 0;
  const std::uint64_t size = up ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::uint64_t span = up ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t n = (span - 1) / size + 1;
  if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail<ShapeError>("arange", "range is too long", fmt::format("start is {} and stop is {}", start, stop),
                     "fewer than 2^63 numbers");
  }
  return static_cast<std::int64_t>(n);
}

// start + i · step, which lies between start and stop even where i · step is beyond 64 bits.
std::int64_t number_of(std::int64_t start, std::int64_t i, std::int64_t step) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
}

}  // namespace

Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
  if (step == 0) fail<ValueError>("arange", "step is 0", {}, "a step other than 0");
  const std::int64_t n = count_of(start, stop, step);
  if (dtype == DType::i32 && n > 0) {
    check_fits_i32("arange", "start", start);
    check_fits_i32("arange", "the last number", number_of(start, n - 1, step));
  }
  Tensor y = empty({n}, dtype);
  visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    T* data = y.mutable_data<T>();
    for (std::int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(number_of(start, i, step));
  });
  return y;
}

Tensor eye(std::int64_t n, DType dtype) {
  Tensor y = zeros({n, n}, dtype);
  View diagonal{{n}, {n + 1}, 0, n};
  view_of(y, std::move(diagonal)).fill_(1);
  return y;
}

namespace {

void check_count(std::string_view op, std::size_t count, const Shape& shape) {
  if (element_count(shape) == static_cast<std::int64_t>(count)) return;
  fail<ShapeError>(op, "number of elements differs",
                   fmt::format("{} values and the shape {}", count, shape.str()),
                   fmt::format("{} values", element_count(shape)));
}

}  // namespace

void detail::check_list_count(std::size_t count, const Shape& shape) { check_count("tensor", count, shape); }

void detail::check_list_size(std::size_t size, const Shape& shape, int axis) {
  if (shape[axis] == static_cast<std::int64_t>(size)) return;
  fail<ShapeError>("tensor", "lists differ in length",
                   fmt::format("one along axis {} has {} elements", axis, size),
                   fmt::format("{}, as the first has", shape[axis]));
}

template <class T>
Tensor from_span(std::span<const T> values, const Shape& shape) {
  check_count("from_span", values.size(), shape);
  Tensor y = empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), y.mutable_data<T>());
  return y;
}

template Tensor from_span(std::span<const bool>, const Shape&);
template Tensor from_span(std::span<const std::int32_t>, const Shape&);
template Tensor from_span(std::span<const std::int64_t>, const Shape&);
template Tensor from_span(std::span<const float>, const Shape&);
template Tensor from_span(std::span<const double>, const Shape&);

Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> release) {
  View view = contiguous_view(shape);
  const std::size_t bytes = byte_count("from_blob", view, dtype);
  return {Storage::borrow(data, bytes, std::move(release)), std::move(view), dtype};
}

}  // namespace heed
