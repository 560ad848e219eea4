#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/where.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// condition [2, 1], a [2, 3], b [3]
Array where_reference(const std::vector<Array>& in) {
  Array y = in[1];
  for (std::size_t i = 0; i < 6; ++i) {
    if (in[0].values[i / 3] == 0) y.values[i] = in[2].values[i % 3];
  }
  return y;
}

const Input rows{{2, 1}, 0, 0, {1, 0}, DType::boolean};

const Registration registration(
    {{"where",
      "broadcast",
      {rows, {{2, 3}}, {{3}}},
      ternary([](const Tensor& c, const Tensor& a, const Tensor& b) { return where(c, a, b); }),
      where_reference},
     {"where",
      "a number",
      {rows, {{2, 3}}},
      binary([](const Tensor& c, const Tensor& a) { return where(c, a, 0.5); }),
      [](const std::vector<Array>& in) {
        return where_reference({in[0], in[1], Array{{3}, {0.5, 0.5, 0.5}}});
      }},
     {"masked_fill",
      "rows",
      {{{2, 3}}, rows},
      binary([](const Tensor& x, const Tensor& m) { return masked_fill(x, m, -1.5); }),
      [](const std::vector<Array>& in) {
        Array y = in[0];
        for (std::size_t i = 0; i < 6; ++i) y.values[i] = in[1].values[i / 3] != 0 ? -1.5 : y.values[i];
        return y;
      }}},
    {throws<DTypeError>(
         "where", "condition", [] { where(zeros({2}), zeros({2}), zeros({2})); },
         "where: dtype not supported, condition is f32[2]; expected boolean"),
     throws<ShapeError>(
         "masked_fill", "mask", [] { masked_fill(zeros({2}), zeros({3}, DType::boolean), 0); },
         "masked_fill: mask does not broadcast, mask is [3]; expected a shape that expands to [2]")});

}  // namespace

TEST_CASE("a filled place hides NaN from value and gradient") {
  Tensor x = tensor({std::nan(""), 2.0}).set_requires_grad();
  const Tensor y = masked_fill(x, tensor({true, false}), 0);
  REQUIRE(y.to_vector<double>() == std::vector<double>{0, 2});
  backward(y, {.cotangent = tensor({std::nan(""), 3.0})});
  REQUIRE(x.grad().to_vector<double>() == std::vector<double>{0, 3});
}
