#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// Element by element: axis k of the result is axis axes[k] of x.
Reference permuted(std::vector<int> axes) {
  return [axes](const std::vector<Array>& in) {
    const Shape from = contiguous_strides(in[0].shape);
    Array y;
    for (const int axis : axes) y.shape.push_back(in[0].shape[axis]);
    for (std::int64_t i = 0; i < element_count(y.shape); ++i) {
      std::int64_t rest = i;
      std::int64_t at = 0;
      for (int k = y.shape.rank() - 1; k >= 0; --k) {
        at += rest % y.shape[k] * from[axes[static_cast<std::size_t>(k)]];
        rest /= y.shape[k];
      }
      y.values.push_back(in[0].values[static_cast<std::size_t>(at)]);
    }
    return y;
  };
}

const Registration registration(
    {
        {"transpose",
         "last two axes",
         {{{2, 3, 4}}},
         unary([](const Tensor& x) { return transpose(x); }),
         permuted({0, 2, 1})},
        {"transpose",
         "outer axes",
         {{{2, 3, 4}}},
         unary([](const Tensor& x) { return transpose(x, 0, -1); }),
         permuted({2, 1, 0})},
        {"permute",
         "a cycle",
         {{{2, 3, 4, 2}}},
         unary([](const Tensor& x) {
           return permute(x, {1, -1, 0, 2});
         }),
         permuted({1, 3, 0, 2})},
        {"permute", "no axes", {{{}}}, unary([](const Tensor& x) { return permute(x, {}); }), permuted({})},
        {"permute",
         "no elements",
         {{{0, 3}}},
         unary([](const Tensor& x) {
           return permute(x, {1, 0});
         }),
         permuted({1, 0})},
    },
    {
        throws<IndexError>(
            "transpose", "axis",
            [] {
              transpose(zeros({2, 3}), 0, 2);
            },
            "transpose: axis out of range, axis is 2 and the tensor has 2 axes; expected -2 <= axis < 2"),
        throws<ShapeError>(
            "permute", "an axis twice",
            [] {
              permute(zeros({2, 3}), {1, 1});
            },
            "permute: axes are no permutation, axes are [1, 1] and x is [2, 3]; expected each axis of x "
            "once"),
    });

}  // namespace

TEST_CASE("transpose and permute share the elements") {
  const Tensor x = zeros({2, 3});
  CHECK(transpose(x).storage().get() == x.storage().get());
  CHECK(permute(x, {1, 0}).storage().get() == x.storage().get());
}
