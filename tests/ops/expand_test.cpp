#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/expand.h>

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

TEST_CASE("a write to an expanded view is refused and changes nothing", "[report-7]") {
  Tensor base = ones({1, 1});
  Tensor view = expand(base, {3, 4});
  REQUIRE_THROWS_AS(view.fill_(2), ValueError);
  REQUIRE_THROWS_AS(view.copy_(ones({3, 4})), ValueError);
  REQUIRE_THROWS_AS(view.mutable_data<float>(), ValueError);
  REQUIRE(base.item<float>() == 1);
}

TEST_CASE("bias sums of f32 are exact to f64 and the same under every thread count", "[report-14]") {
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
