#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/exp_log.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration({{"exp",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return exp(x); }),
                                  elementwise([](double v) { return std::exp(v); })},
                                 {"expm1",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return expm1(x); }),
                                  elementwise([](double v) { return std::expm1(v); })},
                                 {"log",
                                  "plain",
                                  {{{3, 11}, 0.3, 3.0}},
                                  unary([](const Tensor& x) { return log(x); }),
                                  elementwise([](double v) { return std::log(v); })},
                                 {"log1p",
                                  "plain",
                                  {{{3, 11}, -0.6, 3.0}},
                                  unary([](const Tensor& x) { return log1p(x); }),
                                  elementwise([](double v) { return std::log1p(v); })}},
                                {throws<DTypeError>(
                                     "exp", "dtype", [] { exp(zeros({2}, DType::i64)); },
                                     "exp: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "expm1", "dtype", [] { expm1(zeros({2}, DType::i64)); },
                                     "expm1: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "log", "dtype", [] { log(zeros({2}, DType::i64)); },
                                     "log: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "log1p", "dtype", [] { log1p(zeros({2}, DType::i64)); },
                                     "log1p: dtype not supported, x is i64[2]; expected f32 or f64")});

}  // namespace

TEST_CASE("exp of f32 is right at the ends of its range") {
  const auto y =
      exp(tensor<float>({-200, -104, -90, 0, 88.7f, 89, -HUGE_VALF, HUGE_VALF, NAN})).to_vector<float>();
  REQUIRE(y[0] == 0);
  REQUIRE(y[2] == Approx(std::exp(-90.0)).epsilon(1e-3));  // a denormal: three digits
  REQUIRE(y[3] == 1);
  REQUIRE(y[4] == Approx(std::exp(static_cast<double>(88.7f))).epsilon(1e-6));
  REQUIRE(std::isinf(y[5]));
  REQUIRE(y[6] == 0);
  REQUIRE(std::isinf(y[7]));
  REQUIRE(std::isnan(y[8]));
}
