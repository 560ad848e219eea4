#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/squeeze.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

Reference same_elements(Shape shape) {
  return [shape](const std::vector<Array>& in) { return Array{shape, in[0].values}; };
}

const Registration registration(
    {
        {"squeeze",
         "middle axis",
         {{{2, 1, 3}}},
         unary([](const Tensor& x) { return squeeze(x, 1); }),
         same_elements({2, 3})},
        {"squeeze",
         "to no axes",
         {{{1}}},
         unary([](const Tensor& x) { return squeeze(x, -1); }),
         same_elements({})},
        {"unsqueeze",
         "first axis",
         {{{2, 3}}},
         unary([](const Tensor& x) { return unsqueeze(x, 0); }),
         same_elements({1, 2, 3})},
        {"unsqueeze",
         "after the last",
         {{{2, 3}}},
         unary([](const Tensor& x) { return unsqueeze(x, -1); }),
         same_elements({2, 3, 1})},
        {"unsqueeze",
         "no axes",
         {{{}}},
         unary([](const Tensor& x) { return unsqueeze(x, 0); }),
         same_elements({1})},
        {"unsqueeze",
         "no elements",
         {{{0, 2}}},
         unary([](const Tensor& x) { return unsqueeze(x, 1); }),
         same_elements({0, 1, 2})},
    },
    {
        throws<ShapeError>(
            "squeeze", "longer axis",
            [] {
              squeeze(zeros({2, 3}), 1);
            },
            "squeeze: axis is not of size 1, axis 1 of [2, 3]; expected size 1"),
        throws<IndexError>(
            "unsqueeze", "axis",
            [] {
              unsqueeze(zeros({2, 3}), 3);
            },
            "unsqueeze: axis out of range, axis is 3 and the tensor has 3 axes; expected -3 <= axis < 3"),
    });

}  // namespace

TEST_CASE("squeeze keeps a tensor without axes, and both are views") {
  const Tensor x = scalar(2.0);
  CHECK(squeeze(x, 0).rank() == 0);
  CHECK(unsqueeze(x, 0).storage().get() == x.storage().get());
}
