#include <algorithm>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sort.h>
#include <heed/ops/sum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Line ascending(const Line& x) {
  Line y = x;
  std::sort(y.begin(), y.end());
  return y;
}

std::function<Line(const Line&)> largest(std::size_t k) {
  return [k](const Line& x) {
    Line y = x;
    std::sort(y.begin(), y.end(), std::greater<>());
    y.resize(k);
    return y;
  };
}

const Registration registration(
    {
        {"sort",
         "last axis",
         {{{2, 9}}},
         unary([](const Tensor& x) { return sort(x).values; }),
         along(1, ascending)},
        {"sort",
         "first axis, descending",
         {{{5, 2}}},
         unary([](const Tensor& x) { return sort(x, 0, true).values; }),
         along(0, largest(5))},
        {"sort",
         "no axes",
         {{{}}},
         unary([](const Tensor& x) { return sort(x).values; }),
         over_all([](const Line& x) { return x[0]; })},
        {"sort",
         "empty",
         {{{2, 0}}},
         unary([](const Tensor& x) { return sort(x).values; }),
         elements({2, 0}, {})},
        {"topk",
         "middle axis",
         {{{2, 5, 2}}},
         unary([](const Tensor& x) { return topk(x, 3, 1).values; }),
         along(1, largest(3))},
        {"topk",
         "smallest",
         {{{2, 5}}},
         unary([](const Tensor& x) { return topk(x, 1, -1, false).values; }),
         along(1, [](const Line& x) { return Line{ascending(x)[0]}; })},
    },
    {
        throws<DTypeError>(
            "sort", "boolean", [] { sort(zeros({2}, DType::boolean)); },
            "sort: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
        throws<ValueError>(
            "topk", "k", [] { topk(zeros({3}), 4); },
            "topk: bad k, k is 4; expected 0 <= k <= size of the axis"),
    });

}  // namespace

TEST_CASE("equal elements keep their order, and NaN is the largest") {
  const double nan = std::nan("");
  using Positions = std::vector<std::int64_t>;
  const Tensor x = tensor({2.0, nan, 1.0, 2.0, 1.0});
  CHECK(sort(x).indices.to_vector<std::int64_t>() == Positions{2, 4, 0, 3, 1});
  CHECK(sort(x, 0, true).indices.to_vector<std::int64_t>() == Positions{1, 0, 3, 2, 4});
  CHECK(topk(x, 2).indices.to_vector<std::int64_t>() == Positions{1, 0});
  CHECK(topk(x, 3, 0, false).indices.to_vector<std::int64_t>() == Positions{2, 4, 0});
}

TEST_CASE("the gradient of a sort goes back to where the values came from") {
  Tensor x = tensor({3.0, 1.0, 2.0});
  x.set_requires_grad();
  CHECK(grad(sum(sort(x).values * tensor({10.0, 20.0, 30.0})), x).to_vector<double>() ==
        std::vector<double>{30, 10, 20});
}
