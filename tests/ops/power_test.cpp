#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/power.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration({{"sqrt",
                                  "plain",
                                  {{{3, 11}, 0.4, 3.0}},
                                  unary([](const Tensor& x) { return sqrt(x); }),
                                  elementwise([](double v) { return std::sqrt(v); })},
                                 {"rsqrt",
                                  "plain",
                                  {{{3, 11}, 0.5, 3.0}},
                                  unary([](const Tensor& x) { return rsqrt(x); }),
                                  elementwise([](double v) { return 1 / std::sqrt(v); })},
                                 {"square",
                                  "plain",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return square(x); }),
                                  elementwise([](double v) { return v * v; })},
                                 {"reciprocal",
                                  "plain",
                                  {{{3, 11}, 0.5, 3.0}},
                                  unary([](const Tensor& x) { return reciprocal(x); }),
                                  elementwise([](double v) { return 1 / v; })},
                                 {"pow",
                                  "exponent 2.5",
                                  {{{3, 11}, 0.4, 2.0}},
                                  unary([](const Tensor& x) { return pow(x, 2.5); }),
                                  elementwise([](double v) { return std::pow(v, 2.5); })},
                                 {"pow",
                                  "exponent 3",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return pow(x, 3); }),
                                  elementwise([](double v) { return v * v * v; })},
                                 {"pow",
                                  "exponent 0",
                                  {{{3, 11}, -2.0, 2.0}},
                                  unary([](const Tensor& x) { return pow(x, 0); }),
                                  elementwise([](double v) { return 1 + 0 * v; })},
                                 {"pow",
                                  "two tensors",
                                  {{{3, 4}, 0.4, 2}, {{4}, -2, 2}},
                                  binary([](const Tensor& a, const Tensor& b) { return pow(a, b); }),
                                  elementwise([](double a, double b) { return std::pow(a, b); })}},
                                {throws<DTypeError>(
                                     "sqrt", "dtype", [] { sqrt(zeros({2}, DType::i64)); },
                                     "sqrt: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "rsqrt", "dtype", [] { rsqrt(zeros({2}, DType::i64)); },
                                     "rsqrt: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "square", "dtype", [] { square(zeros({2}, DType::i64)); },
                                     "square: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "reciprocal", "dtype", [] { reciprocal(zeros({2}, DType::i64)); },
                                     "reciprocal: dtype not supported, x is i64[2]; expected f32 or f64"),
                                 throws<DTypeError>(
                                     "pow", "dtype", [] { pow(zeros({2}, DType::i64), 2); },
                                     "pow: dtype not supported, x is i64[2]; expected f32 or f64")});

}  // namespace

TEMPLATE_TEST_CASE("powers at zero have the gradients the contract names", "", float, double) {
  using T = TestType;
  Tensor x = tensor<T>({0, 2}).set_requires_grad();
  backward(pow(x, 0), {.cotangent = ones({2}, dtype_of<T>)});
  REQUIRE(x.grad().template to_vector<T>() == std::vector<T>{0, 0});
  Tensor a = tensor<T>({0, 0, 3}).set_requires_grad();
  Tensor b = tensor<T>({2, 0, 0}).set_requires_grad();
  backward(pow(a, b), {.cotangent = ones({3}, dtype_of<T>)});
  REQUIRE(a.grad().template to_vector<T>() == std::vector<T>{0, 0, 0});
  REQUIRE(b.grad().template to_vector<T>() == std::vector<T>{0, 0, std::log(T(3))});
}
