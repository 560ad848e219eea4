#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/any_all.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

const double infinity = std::numeric_limits<double>::infinity();

OpCase of_specials(std::string op, Tensor (*f)(const Tensor&), bool (*test)(double)) {
  return {.op = std::move(op),
          .name = "special values",
          .inputs = {{{2, 3}, 0, 0, {std::nan(""), -std::nan(""), infinity, -infinity, 0.0, -1.5}}},
          .function = unary(f),
          .reference = elementwise([test](double v) { return test(v) ? 1.0 : 0.0; }),
          .differentiable = false};
}

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
     of_specials("isnan", isnan, [](double v) { return std::isnan(v); }),
     of_specials("isinf", isinf, [](double v) { return std::isinf(v); }),
     of_specials("isfinite", isfinite, [](double v) { return std::isfinite(v); }),
     {"isclose",
      "broadcast, both sides of the bound",
      {{{2, 3}, 0, 0, {1.25, 2.5, -1.5, 1.75, 1.5, 1.0}}, {{3}, 0, 0, {1, 2, -1}}},
      binary([](const Tensor& a, const Tensor& b) { return isclose(a, b, {.rtol = 0.25, .atol = 0.25}); }),
      elementwise([](double a, double b) {
        return std::fabs(a - b) <= 0.25 + 0.25 * std::fabs(b) ? 1.0 : 0.0;
      }),
      2e-6,
      false},
     {"allclose",
      "all but one",
      {{{2, 2}, 0, 0, {1, 2, 1, 2.5}}, {{2}, 0, 0, {1, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return scalar(allclose(a, b)); }),
      elements({}, {0}),
      2e-6,
      false},
     {"allclose",
      "all",
      {{{2, 2}, 0, 0, {1, 2, 1, 2.5}}, {{2}, 0, 0, {1, 2}}},
      binary([](const Tensor& a, const Tensor& b) { return scalar(allclose(a, b, {.rtol = 0.25})); }),
      elements({}, {1}),
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
         "eq: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "ne", "dtypes", [] { ne(zeros({2}), zeros({2}, DType::f64)); },
         "ne: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "lt", "dtypes", [] { lt(zeros({2}), zeros({2}, DType::f64)); },
         "lt: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "le", "dtypes", [] { le(zeros({2}), zeros({2}, DType::f64)); },
         "le: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "gt", "dtypes", [] { gt(zeros({2}), zeros({2}, DType::f64)); },
         "gt: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "ge", "dtypes", [] { ge(zeros({2}), zeros({2}, DType::f64)); },
         "ge: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<ValueError>(
         "isnan", "undefined", [] { isnan(Tensor()); },
         "isnan: tensor is undefined, x is undefined; expected a tensor"),
     throws<ValueError>(
         "isinf", "undefined", [] { isinf(Tensor()); },
         "isinf: tensor is undefined, x is undefined; expected a tensor"),
     throws<ValueError>(
         "isfinite", "undefined", [] { isfinite(Tensor()); },
         "isfinite: tensor is undefined, x is undefined; expected a tensor"),
     throws<ValueError>(
         "isclose", "tolerance", [] { isclose(zeros({2}), zeros({2}), {.rtol = -1}); },
         "isclose: bad rtol, rtol is -1; expected 0 or more"),
     throws<ValueError>(
         "allclose", "tolerance", [] { allclose(zeros({2}), zeros({2}), {.atol = -std::nan("")}); },
         "allclose: bad atol, atol is nan; expected 0 or more"),
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

TEST_CASE("close: infinities, NaN, integers beyond the digits of double", "[fault-48]") {
  const Tensor a = tensor({infinity, infinity, 1.0, std::nan(""), std::nan("")});
  const Tensor b = tensor({infinity, -infinity, infinity, std::nan(""), 1.0});
  REQUIRE(isclose(a, b).to_vector<bool>() == std::vector<bool>{true, false, false, false, false});
  REQUIRE(isclose(a, b, {.equal_nan = true}).to_vector<bool>() ==
          std::vector<bool>{true, false, false, true, false});
  REQUIRE(isclose(a, b, {.atol = infinity}).to_vector<bool>() ==
          std::vector<bool>{true, false, false, false, false});
  REQUIRE_FALSE(allclose(scalar(infinity), scalar(1.0), {.atol = infinity}));
  const Tensor large = scalar(std::int64_t{1} << 60);
  REQUIRE(allclose(large, large, {.rtol = 0, .atol = 0}));
  REQUIRE_FALSE(allclose(large, large + 1, {.rtol = 0, .atol = 0}));
  REQUIRE(allclose(tensor({1.0f, 2.0f}), tensor({1.0f, 2.00001f})));
  REQUIRE_FALSE(allclose(tensor({1.0f, 2.0f}), tensor({1.0f, 2.0001f})));
  REQUIRE(allclose(zeros({0}), zeros({0})));
}

TEST_CASE("integers and booleans are finite", "[fault-48]") {
  for (const DType dtype : {DType::boolean, DType::i32, DType::i64}) {
    REQUIRE(all(isfinite(ones({3}, dtype))).item<bool>());
    REQUIRE_FALSE(any(isnan(ones({3}, dtype))).item<bool>());
    REQUIRE_FALSE(any(isinf(ones({3}, dtype))).item<bool>());
  }
}
