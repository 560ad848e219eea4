#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/cast.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/expand.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// [2, 1, 3] → [4, 2, 5, 3]
Array expanded(const std::vector<Array>& in) {
  Array y{{4, 2, 5, 3}, {}};
  for (std::size_t i = 0; i < 120; ++i) y.values.push_back(in[0].values[i / 15 % 2 * 3 + i % 3]);
  return y;
}

// [4, 2, 5, 3] → [2, 1, 3]
Array summed(const std::vector<Array>& in) {
  Array y{{2, 1, 3}, std::vector<double>(6, 0.0)};
  for (std::size_t i = 0; i < 120; ++i) y.values[i / 15 % 2 * 3 + i % 3] += in[0].values[i];
  return y;
}

const Registration registration(
    {{"expand",
      "new and inner axes",
      {{{2, 1, 3}}},
      unary([](const Tensor& x) {
        return expand(x, {4, 2, 5, 3});
      }),
      expanded},
     {"expand",
      "a number",
      {{{}}},
      unary([](const Tensor& x) {
        return expand(x, {2, 3});
      }),
      [](const std::vector<Array>& in) {
        return Array{{2, 3}, std::vector<double>(6, in[0].values[0])};
      }},
     {"sum_to",
      "leading and inner axes",
      {{{4, 2, 5, 3}}},
      unary([](const Tensor& x) {
        return sum_to(x, {2, 1, 3});
      }),
      summed},
     {"sum_to",
      "one row",
      {{{5, 3}}},
      unary([](const Tensor& x) { return sum_to(x, {3}); }),
      [](const std::vector<Array>& in) {
        Array y{{3}, std::vector<double>(3, 0.0)};
        for (std::size_t i = 0; i < 15; ++i) y.values[i % 3] += in[0].values[i];
        return y;
      }}},
    {throws<ShapeError>(
         "expand", "shape",
         [] {
           expand(zeros({2, 3}), {2, 4});
         },
         "expand: cannot expand, x is [2, 3] and the shape is [2, 4]; expected sizes equal or 1, aligned at "
         "the last axis"),
     throws<ShapeError>(
         "sum_to", "shape",
         [] {
           sum_to(zeros({2, 3}), {4});
         },
         "sum_to: shape does not expand to x's, x is [2, 3] and the shape is [4]; expected sizes equal "
         "or 1, aligned at the last axis")});

}  // namespace

TEST_CASE("a write to an expanded view is refused and changes nothing") {
  Tensor base = ones({1, 1});
  Tensor view = expand(base, {3, 4});
  REQUIRE_THROWS_AS(view.fill_(2), ValueError);
  REQUIRE_THROWS_AS(view.copy_(ones({3, 4})), ValueError);
  REQUIRE_THROWS_AS(view.mutable_data<float>(), ValueError);
  REQUIRE(base.item<float>() == 1);
}

TEST_CASE("bias sums of f32 are exact to f64 and the same under every thread count") {
  Generator generator(1);
  const Tensor x = randn({20000, 7}, generator);
  std::vector<double> wanted(7, 0.0);
  const auto values = x.to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) wanted[i % 7] += static_cast<double>(values[i]);
  std::vector<float> first;
  const int threads = num_threads();
  for (const int count : {1, 2, 3, 8}) {
    set_num_threads(count);
    const auto y = sum_to(x, {7}).to_vector<float>();
    if (first.empty()) first = y;
    REQUIRE(y == first);
    // One rounding to f32 of a sum of size below 1000.
    for (std::size_t c = 0; c < 7; ++c) REQUIRE(static_cast<double>(y[c]) == Approx(wanted[c]).margin(1e-4));
  }
  set_num_threads(threads);
}

TEST_CASE("sums over long, wide and mixed shapes, forwards and transposed") {
  struct Row {
    Shape from, to;
  };
  // Beyond one block of columns, one piece of rows, and both; reduced axes first, last, around and between.
  const Row rows[] = {{{3, 1300}, {1300}},           {{70, 600}, {1, 600}},
                      {{2, 70000}, {2, 1}},          {{70000, 2}, {1, 2}},
                      {{5, 40, 3, 60}, {40, 1, 60}}, {{5, 40, 3, 60}, {5, 1, 3, 1}},
                      {{9, 1, 8}, {9, 1, 8}},        {{40, 50, 30}, {}},
                      {{300, 400}, {300, 1}}};
  for (const Row& row : rows) {
    // Small whole numbers: every order of summation gives the same bits.
    const std::int64_t n = element_count(row.from);
    Tensor x = empty(row.from, DType::i64);
    auto* data = x.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i) data[i] = i * 7919 % 13 - 6;
    const View target = expand_view("test", contiguous_view(row.to), row.from);
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(element_count(row.to)), 0);
    const StridedLoop<2> loop({&x.view(), &target});
    loop.run(0, n, [&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        wanted[static_cast<std::size_t>(at[1] + i * step[1])] += data[at[0] + i * step[0]];
      }
    });
    CAPTURE(row.from.str(), row.to.str());
    for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64}) {
      const Tensor typed = cast(x, dtype);
      REQUIRE(cast(sum_to(typed, row.to), DType::i64).to_vector<std::int64_t>() == wanted);
    }
    // The same numbers laid out back to front.
    Shape reversed;
    for (int k = x.rank() - 1; k >= 0; --k) reversed.push_back(k);
    const Tensor transposed = permute(contiguous(permute(cast(x, DType::f32), reversed)), reversed);
    REQUIRE(cast(sum_to(transposed, row.to), DType::i64).to_vector<std::int64_t>() == wanted);
  }
}

TEST_CASE("a sum of nothing is 0 and integer sums wrap") {
  REQUIRE(sum_to(zeros({0, 3}), {3}).to_vector<float>() == std::vector<float>{0, 0, 0});
  REQUIRE(sum_to(zeros({3, 0}), {0}).shape() == Shape{0});
  const std::int32_t top = std::numeric_limits<std::int32_t>::max();
  REQUIRE(sum_to(tensor({top, 1}), {}).item<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
}
