#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/compare.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"eq",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return eq(a, b); }),
      elementwise([](double a, double b) { return a == b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"ne",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return ne(a, b); }),
      elementwise([](double a, double b) { return a != b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"lt",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return lt(a, b); }),
      elementwise([](double a, double b) { return a < b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"le",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return le(a, b); }),
      elementwise([](double a, double b) { return a <= b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"gt",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return gt(a, b); }),
      elementwise([](double a, double b) { return a > b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"ge",
      "broadcast",
      {{{2, 3}, 0, 0, {1, 2, 3, 3, 2, 1}}, {{3}, 0, 0, {2, 2, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return ge(a, b); }),
      elementwise([](double a, double b) { return a >= b ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"logical_and",
      "both ways",
      {{{2, 2}, 0, 0, {0, 0, 1, 1}, DType::boolean}, {{2}, 0, 0, {0, 1}, DType::boolean}},
      binary(logical_and),
      elementwise([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"logical_or",
      "both ways",
      {{{2, 2}, 0, 0, {0, 0, 1, 1}, DType::boolean}, {{2}, 0, 0, {0, 1}, DType::boolean}},
      binary(logical_or),
      elementwise([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"logical_xor",
      "both ways",
      {{{2, 2}, 0, 0, {0, 0, 1, 1}, DType::boolean}, {{2}, 0, 0, {0, 1}, DType::boolean}},
      binary(logical_xor),
      elementwise([](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }),
      2e-6,
      false},
     {"logical_not",
      "plain",
      {{{2}, 0, 0, {0, 1}, DType::boolean}},
      unary(logical_not),
      elementwise([](double a) { return a != 0 ? 0.0 : 1.0; }),
      2e-6,
      false}},
    {throws<DTypeError>(
         "eq", "dtypes", [] { eq(zeros({2}), zeros({2}, DType::f64)); },
         "eq: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "ne", "dtypes", [] { ne(zeros({2}), zeros({2}, DType::f64)); },
         "ne: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "lt", "dtypes", [] { lt(zeros({2}), zeros({2}, DType::f64)); },
         "lt: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "le", "dtypes", [] { le(zeros({2}), zeros({2}, DType::f64)); },
         "le: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "gt", "dtypes", [] { gt(zeros({2}), zeros({2}, DType::f64)); },
         "gt: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "ge", "dtypes", [] { ge(zeros({2}), zeros({2}, DType::f64)); },
         "ge: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast)"),
     throws<DTypeError>(
         "logical_and", "dtype", [] { logical_and(zeros({2}), zeros({2})); },
         "logical_and: dtype not supported, a is f32[2]; expected boolean"),
     throws<DTypeError>(
         "logical_or", "dtype", [] { logical_or(zeros({2}), zeros({2})); },
         "logical_or: dtype not supported, a is f32[2]; expected boolean"),
     throws<DTypeError>(
         "logical_xor", "dtype", [] { logical_xor(zeros({2}), zeros({2})); },
         "logical_xor: dtype not supported, a is f32[2]; expected boolean"),
     throws<DTypeError>(
         "logical_not", "dtype", [] { logical_not(zeros({2})); },
         "logical_not: dtype not supported, a is f32[2]; expected boolean")});

}  // namespace

TEST_CASE("NaN is equal to nothing and in no order") {
  const Tensor x = tensor({std::nan(""), 1.0});
  REQUIRE(eq(x, x).to_vector<bool>() == std::vector<bool>{false, true});
  REQUIRE(ne(x, x).to_vector<bool>() == std::vector<bool>{true, false});
  REQUIRE(lt(x, 2).to_vector<bool>() == std::vector<bool>{false, true});
  REQUIRE(ge(x, 2).to_vector<bool>() == std::vector<bool>{false, false});
}
