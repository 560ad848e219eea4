#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/trigonometric.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"sin",
      "plain",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return sin(x); }),
      elementwise([](double v) { return std::sin(v); })},
     {"cos",
      "plain",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return cos(x); }),
      elementwise([](double v) { return std::cos(v); })},
     {"tan",
      "plain",
      {{{3, 11}, -1.0, 1.0}},
      unary([](const Tensor& x) { return tan(x); }),
      elementwise([](double v) { return std::tan(v); })},
     {"asin",
      "plain",
      {{{3, 11}, -0.8, 0.8}},
      unary([](const Tensor& x) { return asin(x); }),
      elementwise([](double v) { return std::asin(v); })},
     {"atan",
      "plain",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return atan(x); }),
      elementwise([](double v) { return std::atan(v); })},
     {"atan2",
      "every quadrant",
      {{{3, 4}, 0.5, 2}, {{4}, -2, -0.5}},
      binary([](const Tensor& a, const Tensor& b) { return atan2(a, b); }),
      elementwise([](double a, double b) { return std::atan2(a, b); })}},
    {throws<DTypeError>(
         "sin", "dtype", [] { sin(zeros({2}, DType::i64)); },
         "sin: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "cos", "dtype", [] { cos(zeros({2}, DType::i64)); },
         "cos: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "tan", "dtype", [] { tan(zeros({2}, DType::i64)); },
         "tan: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "asin", "dtype", [] { asin(zeros({2}, DType::i64)); },
         "asin: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "atan", "dtype", [] { atan(zeros({2}, DType::i64)); },
         "atan: dtype not supported, x is i64[2]; expected f32 or f64"),
     throws<DTypeError>(
         "atan2", "dtypes", [] { atan2(zeros({2}), zeros({2}, DType::f64)); },
         "atan2: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)")});

}  // namespace
