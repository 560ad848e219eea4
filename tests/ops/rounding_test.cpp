#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/rounding.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"abs",
      "plain",
      {{{3, 11}, 0.2, 2.0}},
      unary([](const Tensor& x) { return abs(x); }),
      elementwise([](double v) { return std::abs(v); })},
     {"abs",
      "below zero",
      {{{3, 11}, -2.0, -0.2}},
      unary([](const Tensor& x) { return abs(x); }),
      elementwise([](double v) { return std::abs(v); })},
     {"sign",
      "plain",
      {{{3, 11}, 0.2, 2.0}},
      unary([](const Tensor& x) { return sign(x); }),
      elementwise([](double v) { return (v > 0 ? 1.0 : -1.0); })},
     {"floor",
      "plain",
      {{{3, 11}, 0.1, 0.9}},
      unary([](const Tensor& x) { return floor(x); }),
      elementwise([](double v) { return std::floor(v); })},
     {"ceil",
      "plain",
      {{{3, 11}, 0.1, 0.9}},
      unary([](const Tensor& x) { return ceil(x); }),
      elementwise([](double v) { return std::ceil(v); })},
     {"round",
      "plain",
      {{{3, 11}, 0.6, 1.4}},
      unary([](const Tensor& x) { return round(x); }),
      elementwise([](double v) { return std::nearbyint(v); })}},
    {throws<DTypeError>(
         "abs", "dtype", [] { abs(zeros({2}, DType::boolean)); },
         "abs: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
     throws<DTypeError>(
         "sign", "dtype", [] { sign(zeros({2}, DType::i64)); },
         "sign: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "floor", "dtype", [] { floor(zeros({2}, DType::i64)); },
         "floor: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "ceil", "dtype", [] { ceil(zeros({2}, DType::i64)); },
         "ceil: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "round", "dtype", [] { round(zeros({2}, DType::i64)); },
         "round: dtype not supported, x is i64[2]; expected f32 or f64")});

}  // namespace

TEST_CASE("kinks: |x| and sign have gradient 0 at 0; round goes to even") {
  Tensor x = tensor({0.0, -1.0}).set_requires_grad();
  backward(abs(x), {.cotangent = ones({2}, DType::f64)});
  REQUIRE(x.grad().to_vector<double>() == std::vector<double>{0, -1});
  REQUIRE(round(tensor({0.5, 1.5, 2.5, -0.5})).to_vector<double>() == std::vector<double>{0, 2, 2, -0.0});
  REQUIRE(std::isnan(sign(tensor({std::nan("")})).item<double>()));
}
