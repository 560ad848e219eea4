#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"add",
      "one shape",
      {{{3, 11}}, {{3, 11}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return add(a, b); }),
      elementwise([](double a, double b) { return a + b; })},
     {"add",
      "broadcast both ways",
      {{{4, 1, 3}}, {{2, 1}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return add(a, b); }),
      elementwise([](double a, double b) { return a + b; })},
     {"add",
      "with a number without axes",
      {{{2, 3}}, {{}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return add(a, b); }),
      elementwise([](double a, double b) { return a + b; })},
     {"add",
      "empty",
      {{{0, 3}}, {{1, 3}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return add(a, b); }),
      elementwise([](double a, double b) { return a + b; })},
     {"sub",
      "one shape",
      {{{3, 11}}, {{3, 11}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return sub(a, b); }),
      elementwise([](double a, double b) { return a - b; })},
     {"sub",
      "broadcast both ways",
      {{{4, 1, 3}}, {{2, 1}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return sub(a, b); }),
      elementwise([](double a, double b) { return a - b; })},
     {"sub",
      "with a number without axes",
      {{{2, 3}}, {{}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return sub(a, b); }),
      elementwise([](double a, double b) { return a - b; })},
     {"sub",
      "empty",
      {{{0, 3}}, {{1, 3}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return sub(a, b); }),
      elementwise([](double a, double b) { return a - b; })},
     {"mul",
      "one shape",
      {{{3, 11}}, {{3, 11}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }),
      elementwise([](double a, double b) { return a * b; })},
     {"mul",
      "broadcast both ways",
      {{{4, 1, 3}}, {{2, 1}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }),
      elementwise([](double a, double b) { return a * b; })},
     {"mul",
      "with a number without axes",
      {{{2, 3}}, {{}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }),
      elementwise([](double a, double b) { return a * b; })},
     {"mul",
      "empty",
      {{{0, 3}}, {{1, 3}, -2, 2}},
      binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }),
      elementwise([](double a, double b) { return a * b; })},
     {"div",
      "one shape",
      {{{3, 11}}, {{3, 11}, 0.5, 2}},
      binary([](const Tensor& a, const Tensor& b) { return div(a, b); }),
      elementwise([](double a, double b) { return a / b; })},
     {"div",
      "broadcast both ways",
      {{{4, 1, 3}}, {{2, 1}, 0.5, 2}},
      binary([](const Tensor& a, const Tensor& b) { return div(a, b); }),
      elementwise([](double a, double b) { return a / b; })},
     {"div",
      "with a number without axes",
      {{{2, 3}}, {{}, 0.5, 2}},
      binary([](const Tensor& a, const Tensor& b) { return div(a, b); }),
      elementwise([](double a, double b) { return a / b; })},
     {"div",
      "empty",
      {{{0, 3}}, {{1, 3}, 0.5, 2}},
      binary([](const Tensor& a, const Tensor& b) { return div(a, b); }),
      elementwise([](double a, double b) { return a / b; })},
     {"neg",
      "plain",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return neg(x); }),
      elementwise([](double v) { return -v; })},
     {"mul",
      "a number on the left",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return 3 * x; }),
      elementwise([](double v) { return 3 * v; })},
     {"sub",
      "a number minus a tensor",
      {{{3, 11}, -2.0, 2.0}},
      unary([](const Tensor& x) { return 1.5f - x; }),
      elementwise([](double v) { return 1.5 - v; })}},
    {throws<ShapeError>(
         "add", "shapes",
         [] {
           add(zeros({2, 3}), zeros({4}));
         },
         "add: shapes do not broadcast, a is [2, 3] and b is [4]; expected sizes equal or 1, aligned at the "
         "last axis"),
     throws<DTypeError>(
         "sub", "dtypes", [] { sub(zeros({2}), zeros({2}, DType::f64)); },
         "sub: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is f32)"),
     throws<DTypeError>(
         "mul", "boolean", [] { mul(zeros({2}, DType::boolean), zeros({2}, DType::boolean)); },
         "mul: dtype not supported, a is boolean[2]; expected i32 or i64 or f32 or f64"),
     throws<ValueError>(
         "div", "by 0", [] { div(tensor<std::int64_t>({7}), tensor<std::int64_t>({0})); },
         "div: an integer is divided by 0, 7 / 0; expected a divisor other than 0"),
     throws<DTypeError>(
         "neg", "boolean", [] { neg(zeros({2}, DType::boolean)); },
         "neg: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
     throws<ValueError>(
         "mul", "a fraction for integers", [] { mul(tensor<std::int64_t>({7}), 0.5); },
         "mul: number is not whole, 0.5 for a tensor of i64; expected a whole number (or cast the tensor)")});

}  // namespace

TEMPLATE_TEST_CASE("a broadcast operand's gradient has its shape and the sum", "", float, double) {
  using T = TestType;
  const auto all = [](const Tensor& x, T value) {
    for (const T v : x.to_vector<T>()) REQUIRE(v == value);
  };
  Tensor a = tensor<T>({1, 2, 3, 4}, {4, 1}).set_requires_grad();
  Tensor b = tensor<T>({10, 20, 30, 40}, {1, 4}).set_requires_grad();
  backward(sum(a * b));
  REQUIRE(a.grad().shape() == Shape{4, 1});
  REQUIRE(b.grad().shape() == Shape{1, 4});
  all(a.grad(), 100);
  all(b.grad(), 10);
  Tensor c = ones({2, 1, 3}, dtype_of<T>).set_requires_grad();
  backward(sum(c * ones({4, 2, 5, 3}, dtype_of<T>)));
  REQUIRE(c.grad().shape() == Shape{2, 1, 3});
  all(c.grad(), 20);
}

TEST_CASE("one tensor in several places") {
  Tensor a = scalar(2.0).set_requires_grad();
  const Tensor s = a * a;
  const Tensor f = (s + 3 * a) * s;
  REQUIRE(f.item<double>() == 40);
  backward(f);
  REQUIRE(a.grad().item<double>() == 68);
  Tensor x = scalar(3.0).set_requires_grad();
  backward(x - x);
  REQUIRE(x.grad().item<double>() == 0);
}

TEST_CASE("integers wrap, and divide towards zero") {
  const auto big = std::numeric_limits<std::int32_t>::max();
  const auto low = std::numeric_limits<std::int32_t>::min();
  REQUIRE(add(tensor<std::int32_t>({big}), 1).item<std::int32_t>() == low);
  REQUIRE(mul(tensor<std::int32_t>({1 << 30}), 4).item<std::int32_t>() == 0);
  REQUIRE(neg(tensor<std::int32_t>({low})).item<std::int32_t>() == low);
  REQUIRE(
      div(tensor<std::int32_t>({-7, 7, low}), tensor<std::int32_t>({2, -2, -1})).to_vector<std::int32_t>() ==
      std::vector<std::int32_t>{-3, -3, low});
}

TEST_CASE("assignments with numbers and tensors rebind the handle and are recorded", "[fault-40]") {
  Tensor x = tensor({2.0, 3.0}).set_requires_grad();
  const Tensor before = x;  // NOLINT(performance-unnecessary-copy-initialization): another handle
  Tensor y = x;
  y *= 2;
  y += 1;
  y -= 0.5f;
  y /= 3.0;
  CHECK(y.to_vector<double>() == std::vector<double>{(2 * 2.0 + 1 - 0.5) / 3, (2 * 3.0 + 1 - 0.5) / 3});
  y *= y;
  y += x;
  y -= x;
  y /= x;
  CHECK(grad(sum(y), x).defined());
  CHECK(x.impl() == before.impl());
  CHECK(x.to_vector<double>() == std::vector<double>{2, 3});
  Tensor whole = tensor({7, 8});
  whole /= 2;
  CHECK(whole.to_vector<std::int32_t>() == std::vector<std::int32_t>{3, 4});
  CHECK_THROWS_AS(whole += 0.5, ValueError);
}
