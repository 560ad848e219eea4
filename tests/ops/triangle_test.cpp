#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/triangle.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Reference kept(bool lower, std::int64_t diagonal) {
  return [=](const std::vector<Array>& in) {
    Array y = in[0];
    const std::int64_t n = y.shape[y.shape.rank() - 2];
    const std::int64_t m = y.shape.back();
    for (std::size_t k = 0; k < y.values.size(); ++k) {
      const auto flat = static_cast<std::int64_t>(k);
      const std::int64_t distance = flat % m - flat / m % n;
      if (lower ? distance > diagonal : distance < diagonal) y.values[k] = 0;
    }
    return y;
  };
}

Function lower(std::int64_t diagonal) {
  return unary([diagonal](const Tensor& x) { return tril(x, diagonal); });
}
Function upper(std::int64_t diagonal) {
  return unary([diagonal](const Tensor& x) { return triu(x, diagonal); });
}

const Registration registration(
    {
        {"tril", "square", {{{3, 3}}}, lower(0), kept(true, 0)},
        {"tril", "wide batch, above", {{{2, 3, 5}}}, lower(2), kept(true, 2)},
        {"tril", "tall, below", {{{5, 3}}}, lower(-1), kept(true, -1)},
        {"triu", "square", {{{3, 3}}}, upper(0), kept(false, 0)},
        {"triu", "wide batch, above", {{{2, 3, 5}}}, upper(1), kept(false, 1)},
        {"triu", "tall, below", {{{5, 3}}}, upper(-2), kept(false, -2)},
        {"triu", "empty", {{{0, 3}}}, upper(0), elements({0, 3}, {})},
    },
    {
        throws<ShapeError>(
            "tril", "rank", [] { tril(zeros({3})); },
            "tril: x has the wrong number of axes, x is [3]; expected 2 axes or more"),
        throws<ShapeError>(
            "triu", "rank", [] { triu(zeros({})); },
            "triu: x has the wrong number of axes, x is []; expected 2 axes or more"),
    });

}  // namespace

TEST_CASE("a diagonal far outside keeps all or nothing") {
  const Tensor x = ones({2, 2}, DType::f64);
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  CHECK(tril(x, far).to_vector<double>() == std::vector<double>{1, 1, 1, 1});
  CHECK(triu(x, far).to_vector<double>() == std::vector<double>{0, 0, 0, 0});
  CHECK(tril(x, -far).to_vector<double>() == std::vector<double>{0, 0, 0, 0});
}
