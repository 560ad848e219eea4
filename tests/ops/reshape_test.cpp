#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/reshape.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

Function reshaped(Shape shape) {
  return unary([shape](const Tensor& x) { return reshape(x, shape); });
}

Reference same_elements(Shape shape) {
  return [shape](const std::vector<Array>& in) { return Array{shape, in[0].values}; };
}

const Registration registration(
    {
        {"reshape", "joins axes", {{{2, 3, 4}}}, reshaped({6, 4}), same_elements({6, 4})},
        {"reshape", "fills in one size", {{{2, 3, 4}}}, reshaped({4, -1, 1}), same_elements({4, 6, 1})},
        {"reshape", "to no axes", {{{1, 1}}}, reshaped({}), same_elements({})},
        {"reshape", "from no axes", {{{}}}, reshaped({1, 1}), same_elements({1, 1})},
        {"reshape", "no elements", {{{0, 3}}}, reshaped({3, 0, 2}), same_elements({3, 0, 2})},
        {"reshape", "its own shape", {{{2, 3}}}, reshaped({2, 3}), same_elements({2, 3})},
        {"flatten",
         "middle axes",
         {{{2, 3, 4, 2}}},
         unary([](const Tensor& x) { return flatten(x, 1, -2); }),
         same_elements({2, 12, 2})},
        {"flatten", "no axes", {{{}}}, unary([](const Tensor& x) { return flatten(x); }), same_elements({1})},
    },
    {
        throws<ShapeError>(
            "reshape", "another count",
            [] {
              reshape(zeros({2, 3}), {4, 2});
            },
            "reshape: element counts differ, x is [2, 3] and the shape is [4, 2]; expected 6 elements, at "
            "most "
            "one size of -1"),
        throws<ShapeError>(
            "reshape", "two free sizes",
            [] {
              reshape(zeros({2, 3}), {-1, -1});
            },
            "reshape: element counts differ, x is [2, 3] and the shape is [-1, -1]; expected 6 elements, at "
            "most one size of -1"),
        throws<ValueError>(
            "flatten", "order",
            [] {
              flatten(zeros({2, 3}), 1, 0);
            },
            "flatten: axes are out of order, first is 1 and last is 0; expected first <= last"),
    });

}  // namespace

TEST_CASE("reshape is a view where strides allow it, else a copy") {
  const Tensor x = zeros({4, 6});
  CHECK(reshape(x, {24}).storage().get() == x.storage().get());
  CHECK(reshape(transpose(x), {6, 2, 2}).storage().get() == x.storage().get());
  CHECK(reshape(transpose(x), {24}).storage().get() != x.storage().get());
}
