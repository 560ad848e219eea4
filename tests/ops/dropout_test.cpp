#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/dropout.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"dropout",
      "one stream",
      {{{3, 4}}},
      unary([](const Tensor& x) {
        Generator generator(5);
        return dropout(x, 0.4, generator);
      }),
      [](const std::vector<Array>& in) {
        Array y = in[0];
        for (std::size_t i = 0; i < y.values.size(); ++i) {
          y.values[i] *= uniform_from_bits<double>(random_bits({5, 0}, i)) >= 0.4 ? 1 / 0.6 : 0.0;
        }
        return y;
      }},
     {"dropout_with_keep",
      "rows",
      {{{2, 3}}, {{3}, 0, 0, {1, 0, 1}, DType::boolean}},
      binary([](const Tensor& x, const Tensor& keep) { return dropout_with_keep(x, keep, 0.25); }),
      elementwise([](double x, double keep) { return x * keep / 0.75; })}},
    {throws<ValueError>(
         "dropout", "p",
         [] {
           Generator generator(1);
           dropout(zeros({2}), 1.5, generator);
         },
         "dropout: bad p, p is 1.5; expected 0 <= p <= 1"),
     throws<ValueError>(
         "dropout_with_keep", "p", [] { dropout_with_keep(zeros({2}), zeros({2}, DType::boolean), -0.1); },
         "dropout_with_keep: bad p, p is -0.1; expected 0 <= p <= 1")});

}  // namespace

TEMPLATE_TEST_CASE("p = 1 gives zeros and zero gradients, p = 0 the operand", "", float, double) {
  using T = TestType;
  Generator generator(1);
  Tensor x = ones({4}, dtype_of<T>).set_requires_grad();
  const Tensor y = dropout(x, 1.0, generator);
  REQUIRE(y.to_vector<T>() == std::vector<T>(4, 0));
  backward(y, {.cotangent = ones({4}, dtype_of<T>)});
  REQUIRE(x.grad().template to_vector<T>() == std::vector<T>(4, 0));
  REQUIRE(dropout(x, 0.0, generator).impl() == x.impl());
}

TEST_CASE("the mean survives, and the gradient uses the same mask") {
  Generator generator(2);
  const std::int64_t n = 100000;
  Tensor x = ones({n}, DType::f64).set_requires_grad();
  const Tensor y = dropout(x, 0.3, generator);
  backward(y, {.cotangent = ones({n}, DType::f64)});
  REQUIRE(x.grad().to_vector<double>() == y.to_vector<double>());
  double mean = 0;
  for (const double v : y.to_vector<double>()) mean += v / static_cast<double>(n);
  REQUIRE(mean ==
          Approx(1).margin(5 * std::sqrt(0.3 / 0.7 / static_cast<double>(n))));  // five standard deviations
  REQUIRE(dropout(x, 0.3, generator).to_vector<double>() != y.to_vector<double>());
}
