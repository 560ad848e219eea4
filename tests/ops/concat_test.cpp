#include <numeric>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/concat.h>
#include <heed/ops/sum.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

using Tensors = std::vector<Tensor>;

// Matrices joined along axis 0 (one after the other) or 1 (row by row).
Reference joined(int axis) {
  return [axis](const std::vector<Array>& in) {
    Array y{in[0].shape, {}};
    y.shape[axis] = 0;
    for (const Array& x : in) y.shape[axis] += x.shape[axis];
    const std::int64_t rows = axis == 0 ? 1 : y.shape[0];
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const Array& x : in) {
        const auto width = static_cast<std::ptrdiff_t>(x.values.size()) / rows;
        y.values.insert(y.values.end(), x.values.begin() + row * width, x.values.begin() + (row + 1) * width);
      }
    }
    return y;
  };
}

// The first `count` of each row of `width`.
Reference first_part(std::size_t width, std::size_t count, Shape shape) {
  return [=](const std::vector<Array>& in) {
    Array y{shape, {}};
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      if (i % width < count) y.values.push_back(in[0].values[i]);
    }
    return y;
  };
}

Function concatenated(std::int64_t axis) {
  return [axis](const Tensors& x) { return Tensors{concat(x, axis)}; };
}

const Registration registration(
    {
        {"concat", "first axis", {{{2, 3}}, {{1, 3}}, {{4, 3}}}, concatenated(0), joined(0)},
        {"concat", "last axis", {{{2, 3}}, {{2, 1}}}, concatenated(-1), joined(1)},
        {"concat", "an empty part", {{{2, 3}}, {{2, 0}}, {{2, 2}}}, concatenated(1), joined(1)},
        {"concat", "one tensor", {{{2, 3}}}, concatenated(0), joined(0)},
        {"stack",
         "last axis",
         {{{2}}, {{2}}, {{2}}},
         [](const Tensors& x) { return Tensors{stack(x, -1)}; },
         [](const std::vector<Array>& in) {
           Array y{{2, 3}, {}};
           for (std::size_t row = 0; row < 2; ++row) {
             for (const Array& x : in) y.values.push_back(x.values[row]);
           }
           return y;
         }},
        {"stack",
         "no axes",
         {{{}}, {{}}},
         [](const Tensors& x) { return Tensors{stack(x)}; },
         [](const std::vector<Array>& in) {
           return Array{{2}, {in[0].values[0], in[1].values[0]}};
         }},
        {"split",
         "one size, the last part shorter",
         {{{2, 5}}},
         [](const Tensors& x) { return split(x[0], 2, 1); },
         first_part(5, 2, {2, 2})},
        {"split",
         "given sizes",
         {{{2, 5}}},
         [](const Tensors& x) {
           return split(x[0], {3, 0, 2}, 1);
         },
         first_part(5, 3, {2, 3})},
        {"split",
         "no elements",
         {{{0, 2}}},
         [](const Tensors& x) { return split(x[0], 2, 0); },
         first_part(2, 2, {0, 2})},
    },
    {
        throws<ValueError>(
            "concat", "nothing", [] { concat(Tensors{}); },
            "concat: no tensors; expected one tensor or more"),
        throws<ShapeError>(
            "concat", "shapes",
            [] {
              concat({zeros({2, 3}), zeros({2, 4})}, 0);
            },
            "concat: shapes differ, tensors[0] is [2, 3] and tensors[1] is [2, 4]; expected equal sizes but "
            "along axis 0"),
        throws<DTypeError>(
            "concat", "dtypes",
            [] {
              concat({zeros({2}), zeros({2}, DType::f64)});
            },
            "concat: dtypes differ, tensors[0] is f32[2] and tensors[1] is f64[2]; expected one dtype (use "
            "cast; 1.0f is f32)"),
        throws<ShapeError>(
            "stack", "shapes",
            [] {
              stack({zeros({2}), zeros({3})});
            },
            "stack: shapes differ, tensors[0] is [2] and tensors[1] is [3]; expected equal shapes"),
        throws<ValueError>(
            "split", "size", [] { split(zeros({4}), 0, 0); },
            "split: bad size, size is 0; expected size >= 1"),
        throws<ShapeError>(
            "split", "sizes",
            [] {
              split(zeros({4}), {1, 2}, 0);
            },
            "split: sizes do not add up, their sum is 3 on axis 0 of [4]; expected a sum of 4"),
    });

}  // namespace

TEST_CASE("200 000 parts are split, joined and differentiated in one pass") {
  constexpr std::int64_t n = 200000;
  Tensor x = zeros({n}, DType::f64);
  x.set_requires_grad();
  std::vector<double> weights(n);
  std::iota(weights.begin(), weights.end(), 1.0);
  const Tensor w = from_span(std::span<const double>(weights), {n});
  backward(sum(concat(split(x, 1)) * w));
  CHECK(x.grad().to_vector<double>() == weights);
}

TEST_CASE("parts without a use give zeros") {
  Tensor x = zeros({4}, DType::f64);
  x.set_requires_grad();
  CHECK(grad(sum(split(x, 2)[1]), x).to_vector<double>() == std::vector<double>{0, 0, 1, 1});
}
