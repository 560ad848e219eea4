#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/shape.h>

namespace heed {
namespace {

[[noreturn]] void fail_position(const char* op, int position, int last) {
  fail<IndexError>(op, "position out of range", fmt::format("position is {}", position),
                   fmt::format("0 <= position <= {}", last));
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > max_rank) {
    fail<ShapeError>("shape", "too many axes", fmt::format("{} were given", dims.size()),
                     fmt::format("at most {}", max_rank));
  }
  const int rank = static_cast<int>(dims.size());
  if (rank > inline_rank) heap_ = new std::int64_t[max_rank];
  rank_ = rank;
  std::copy(dims.begin(), dims.end(), data());
}

Shape Shape::filled(int rank, std::int64_t value) {
  if (rank < 0) fail<ShapeError>("shape", "negative rank", fmt::format("rank is {}", rank), "0 or more axes");
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(value);
  return shape;
}

void Shape::copy_heap(const Shape& other) {
  heap_ = new std::int64_t[max_rank];
  std::copy(other.begin(), other.end(), heap_);
}

Shape& Shape::operator=(const Shape& other) {
  if (this != &other) *this = Shape(other);
  return *this;
}

Shape& Shape::operator=(Shape&& other) noexcept {
  if (this == &other) return *this;
  release();
  copy_inline(other);
  rank_ = std::exchange(other.rank_, 0);
  return *this;
}

void Shape::insert(int position, std::int64_t value) {
  if (rank_ == max_rank) {
    fail<ShapeError>("shape", "too many axes", fmt::format("{} were given", rank_ + 1),
                     fmt::format("at most {}", max_rank));
  }
  if (position < 0 || position > rank_) fail_position("insert", position, rank_);
  if (rank_ == inline_rank) {
    auto* grown = new std::int64_t[max_rank];
    std::copy(std::begin(inline_), std::end(inline_), grown);
    heap_ = grown;
  }
  ++rank_;
  std::int64_t* d = data();
  std::copy_backward(d + position, d + rank_ - 1, d + rank_);
  d[position] = value;
}

void Shape::erase(int position) {
  if (position < 0 || position >= rank_) fail_position("erase", position, rank_ - 1);
  std::int64_t* d = data();
  std::copy(d + position + 1, d + rank_, d + position);
  if (rank_ == inline_rank + 1) {
    std::int64_t* heap = heap_;
    std::copy(heap, heap + inline_rank, inline_);
    delete[] heap;
  }
  --rank_;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(begin(), end(), ", ")); }

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  bool zero = false;
  for (const std::int64_t size : shape) {
    if (size < 0) fail<ShapeError>("shape", "negative size", shape.str(), "sizes of 0 or more");
    zero |= size == 0;
    if (size != 0) overflow |= __builtin_mul_overflow(count, size, &count);
  }
  if (zero) return 0;
  if (overflow) fail<ShapeError>("shape", "too many elements", shape.str(), "fewer than 2^63");
  return count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    // Overflows only where there are no elements, or too many for `element_count`.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step)) step = 0;
  }
  return strides;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const std::int64_t x = longer[i + shift];
    const std::int64_t y = shorter[i];
    if (x != y && x != 1 && y != 1) {
      fail<ShapeError>(op, "shapes do not broadcast", fmt::format("a is {} and b is {}", a.str(), b.str()),
                       "sizes equal or 1, aligned at the last axis");
    }
    result[i + shift] = x == 1 ? y : x;
  }
  return result;
}

bool can_expand(const Shape& from, const Shape& to) {
  const int shift = to.rank() - from.rank();
  if (shift < 0) return false;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != to[i + shift] && from[i] != 1) return false;
  }
  return true;
}

int normalize_axis(std::string_view op, std::int64_t axis, int rank) {
  const int bound = std::max(rank, 1);
  if (axis < -bound || axis >= bound) {
    fail<IndexError>(op, "axis out of range",
                     fmt::format("axis is {} and the tensor has {} axes", axis, rank),
                     fmt::format("{} <= axis < {}", -bound, bound));
  }
  return static_cast<int>(axis < 0 ? axis + bound : axis);
}

}  // namespace heed
