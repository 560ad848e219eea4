#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/elements.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/shape.h>
#include <heed/core/view.h>

using namespace heed;
using Catch::Matchers::Message;

namespace {
constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t min64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t two32 = std::int64_t{1} << 32;
}  // namespace

TEST_CASE("a shape keeps its numbers on either side of the inline limit", "[shape]") {
  for (int rank = 0; rank <= Shape::max_rank; ++rank) {
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < rank; ++i) numbers.push_back(10 + i);
    const Shape shape{std::span<const std::int64_t>(numbers)};
    CAPTURE(rank);
    CHECK(shape.rank() == rank);
    CHECK(shape.empty() == (rank == 0));
    CHECK(std::vector<std::int64_t>(shape.begin(), shape.end()) == numbers);
    Shape copy = shape;
    CHECK(copy == shape);
    const Shape moved = std::move(copy);
    CHECK(moved == shape);
    Shape assigned{1, 2, 3, 4, 5, 6, 7};
    assigned = shape;
    CHECK(assigned == shape);
    Shape& self = assigned;
    assigned = self;
    CHECK(assigned == shape);
    assigned = std::move(self);
    CHECK(assigned == shape);
    Shape target{1, 2, 3, 4, 5, 6, 7};
    target = Shape(shape);
    CHECK(target == shape);
  }
}

TEST_CASE("insert and erase agree with a vector at every position and rank", "[shape]") {
  for (int rank = 0; rank < Shape::max_rank; ++rank) {
    for (int at = 0; at <= rank; ++at) {
      std::vector<std::int64_t> numbers;
      for (int i = 0; i < rank; ++i) numbers.push_back(i);
      Shape shape{std::span<const std::int64_t>(numbers)};
      const Shape before = shape;
      shape.insert(at, 99);
      numbers.insert(numbers.begin() + at, 99);
      CHECK(std::vector<std::int64_t>(shape.begin(), shape.end()) == numbers);
      shape.erase(at);
      CHECK(shape == before);
    }
  }
}

TEST_CASE("more than eight axes are refused", "[shape]") {
  Shape full_rank = Shape::filled(8, 1);
  CHECK_THROWS_MATCHES(full_rank.push_back(1), ShapeError,
                       Message("shape: too many axes, 9 were given; expected at most 8"));
  CHECK(full_rank == Shape::filled(8, 1));
  CHECK_THROWS_MATCHES((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError,
                       Message("shape: too many axes, 9 were given; expected at most 8"));
}

TEST_CASE("shapes of different rank differ, and print as lists", "[shape]") {
  CHECK_FALSE(Shape{} == Shape{1});
  CHECK_FALSE(Shape{2, 3} == Shape{2, 3, 1});
  CHECK(Shape{}.str() == "[]");
  CHECK(Shape{2, 3, 4}.str() == "[2, 3, 4]");
}

TEST_CASE("element counts are checked for overflow", "[shape]") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({two32, two32 / 4, 0, two32}) == 0);
  CHECK(element_count({max64}) == max64);
  CHECK_THROWS_MATCHES(
      element_count({two32, two32}), ShapeError,
      Message("shape: too many elements, [4294967296, 4294967296]; expected fewer than 2^63"));
  CHECK_THROWS_MATCHES(element_count({2, -3}), ShapeError,
                       Message("shape: negative size, [2, -3]; expected sizes of 0 or more"));
  CHECK_THROWS_AS(element_count({0, -1}), ShapeError);
}

TEST_CASE("a size that cannot exist is refused before anything is allocated", "[shape]") {
  const auto before = memory_stats();
  CHECK_THROWS_AS(empty({two32, two32}), ShapeError);
  CHECK_THROWS_MATCHES(
      empty({std::int64_t{1} << 61}), ShapeError,
      Message("empty: too many bytes, [2305843009213693952]; expected fewer than 2^62 bytes"));
  CHECK_THROWS_AS(empty({max64}, DType::f64), ShapeError);
  CHECK_THROWS_AS(zeros({3, -1}), ShapeError);
  float cell = 0;
  CHECK_THROWS_AS(from_blob(&cell, {max64}, DType::f32), ShapeError);
  CHECK(memory_stats().live == before.live);
  CHECK(memory_stats().peak == before.peak);
}

TEST_CASE("an empty tensor may have sizes whose product overflows", "[shape]") {
  const Shape shape{0, two32, two32, two32};
  Tensor x = zeros(shape);
  CHECK(x.numel() == 0);
  CHECK(x.is_contiguous());
  CHECK(x.to_vector<float>().empty());
  CHECK(copy_of(x).shape() == shape);
  CHECK(unsqueeze_view("test", x.view(), 2).shape == Shape{0, two32, 1, two32, two32});
}

TEST_CASE("contiguous strides", "[shape]") {
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides({2, 0, 4}) == Strides{4, 4, 1});
}

TEST_CASE("broadcast of two shapes", "[shape]") {
  CHECK(broadcast_shapes("add", {}, {}) == Shape{});
  CHECK(broadcast_shapes("add", {4, 1}, {3}) == Shape{4, 3});
  CHECK(broadcast_shapes("add", {3}, {4, 1}) == Shape{4, 3});
  CHECK(broadcast_shapes("add", {0}, {1}) == Shape{0});
  CHECK(broadcast_shapes("add", {1}, {0}) == Shape{0});
  CHECK(broadcast_shapes("add", {2, 1, 3}, {4, 2, 5, 3}) == Shape{4, 2, 5, 3});
  CHECK_THROWS_MATCHES(broadcast_shapes("add", {2, 3}, {4}), ShapeError,
                       Message("add: shapes do not broadcast, a is [2, 3] and b is [4]; expected sizes "
                               "equal or 1, aligned at the last axis"));
  CHECK_THROWS_AS(broadcast_shapes("add", {0}, {2}), ShapeError);
}

TEST_CASE("can_expand", "[shape]") {
  CHECK(can_expand({}, {2, 3}));
  CHECK(can_expand({1, 3}, {2, 3}));
  CHECK(can_expand({1}, {0}));
  CHECK_FALSE(can_expand({0}, {1}));
  CHECK_FALSE(can_expand({2, 3}, {3}));
  CHECK_FALSE(can_expand({2}, {3}));
}

TEST_CASE("axes count from either end", "[shape]") {
  CHECK(normalize_axis("sum", -3, 3) == 0);
  CHECK(normalize_axis("sum", 2, 3) == 2);
  CHECK(normalize_axis("sum", -1, 0) == 0);
  CHECK_THROWS_MATCHES(
      normalize_axis("sum", 3, 3), IndexError,
      Message("sum: axis out of range, axis is 3 and the tensor has 3 axes; expected -3 <= axis < 3"));
  CHECK_THROWS_AS(normalize_axis("sum", -4, 3), IndexError);
  CHECK_THROWS_AS(normalize_axis("sum", 1, 0), IndexError);
  CHECK_THROWS_AS(normalize_axis("sum", min64, 3), IndexError);
  CHECK_THROWS_AS(normalize_axis("sum", max64, 3), IndexError);
}
