#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// A short list of 64-bit numbers, used for shapes, strides and axis lists. Up to 4 numbers live inline, up
/// to `max_rank` on the heap; more is a ShapeError.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);
  /// `rank` entries, all equal to `value`.
  static Shape filled(int rank, std::int64_t value);

  Shape(const Shape& other) : rank_(other.rank_) {
    copy_inline(other);
    if (on_heap()) [[unlikely]]
      copy_heap(other);
  }
  Shape(Shape&& other) noexcept : rank_(std::exchange(other.rank_, 0)) { copy_inline(other); }
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept;
  ~Shape() { release(); }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  const std::int64_t* data() const { return on_heap() ? heap_ : inline_; }
  std::int64_t* data() { return on_heap() ? heap_ : inline_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + rank_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + rank_; }
  /// Entry `i`, 0 <= i < rank. Use `normalize_axis` first for user-given axes.
  std::int64_t operator[](int i) const { return data()[i]; }
  std::int64_t& operator[](int i) { return data()[i]; }
  std::int64_t back() const { return data()[rank_ - 1]; }

  void insert(int position, std::int64_t value);
  void erase(int position);
  void push_back(std::int64_t value) { insert(rank_, value); }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    const std::int64_t* x = a.data();
    const std::int64_t* y = b.data();
    for (int i = 0; i < a.rank_; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

  /// Text such as `[2, 3, 4]`.
  std::string str() const;

 private:
  static constexpr int inline_rank = 4;
  bool on_heap() const { return rank_ > inline_rank; }
  void release() {
    if (on_heap()) delete[] heap_;
  }
  // All of the inline numbers, or the pointer, whatever the rank: a few moves without a loop.
  void copy_inline(const Shape& other) {
    std::copy(std::begin(other.inline_), std::end(other.inline_), std::begin(inline_));
  }
  void copy_heap(const Shape& other);

  union {
    std::int64_t inline_[inline_rank] = {};
    std::int64_t* heap_;
  };
  int rank_ = 0;
};

/// Steps, in elements, between neighbours along each axis.
using Strides = Shape;

/// Product of the sizes. A negative size, or a product beyond 2^63 − 1, is a ShapeError.
std::int64_t element_count(const Shape& shape);

/// Strides of a row-major tensor without gaps.
Strides contiguous_strides(const Shape& shape);

/// NumPy's broadcast of two shapes; ShapeError that names `op` and both shapes where they do not fit.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

/// Whether `from` can be expanded to `to` (aligned at the last axis; sizes equal or 1).
bool can_expand(const Shape& from, const Shape& to);

/// Maps −rank … rank−1 to 0 … rank−1; IndexError that names `op` otherwise. A rank of 0 is treated as 1.
int normalize_axis(std::string_view op, std::int64_t axis, int rank);

}  // namespace heed
