#include <memory>

#include <catch2/catch.hpp>

#include <heed/check/jvp_check.h>
#include <heed/ops/activation.h>
#include <heed/ops/rounding.h>

#include "planted.h"

using namespace heed;
using namespace heed::test;
using check::jvp_check;
using check::Verdict;

namespace {

const std::size_t differs = static_cast<std::size_t>(Verdict::differs);

}  // namespace

TEST_CASE("jvp_check holds every output of a right function against the difference quotient") {
  const auto result = jvp_check(scaled_exp(1), {point({3, 4})});
  INFO(result.report());
  REQUIRE(result.passed);
  REQUIRE(result.checked == 12);
  REQUIRE(result.proven < 1e-9);  // the default tolerance
  const auto pair = jvp_check(
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{matmul(x[0], x[1]), softmax(x[0])};
      },
      {point({2, 3}), point({3, 4}, DType::f64, 2)}, {.directions = 3});
  INFO(pair.report());
  REQUIRE(pair.passed);
  REQUIRE(pair.checked == 3 * (8 + 6));
}

TEST_CASE("jvp_check finds a sign, a factor, a transposed operand and a Jacobian without its off-diagonal") {
  const Tensor w = point({3, 3}, DType::f64, 9).detach();
  REQUIRE_FALSE(jvp_check(scaled_exp(-1), {point({3, 4})}).passed);
  REQUIRE_FALSE(jvp_check(scaled_exp(1 + 1e-7), {point({3, 4})}).passed);
  REQUIRE_FALSE(jvp_check(transposed_product(w), {point({3, 3})}).passed);
  REQUIRE_FALSE(jvp_check(diagonal_softmax(), {point({2, 5})}).passed);
}

TEST_CASE("jvp_check names the output that is wrong") {
  const auto result = jvp_check(one_element_exp(7), {point({3, 4})});
  REQUIRE(result.counts[differs] == 1);
  REQUIRE(result.failures[0].position == Shape{1, 3});
  REQUIRE(result.report().find("output") != std::string::npos);
}

TEST_CASE("jvp_check finds a rule that is not linear in its cotangent, or does not depend on it") {
  const auto squared = planted([](const Tensor& x) { return exp(x); },
                               [](const Tensor& x, const Tensor& dy) { return mul(mul(dy, dy), exp(x)); });
  REQUIRE_FALSE(jvp_check(squared, {point({3})}).passed);
  const auto detached = planted([](const Tensor& x) { return exp(x); },
                                [](const Tensor& x, const Tensor& dy) { return mul(dy.detach(), exp(x)); });
  const auto result = jvp_check(detached, {point({3})});
  REQUIRE(result.counts[differs] == 3);
}

TEST_CASE("jvp_check at kinks: a directional derivative between the sides passes") {
  const Tensor x = tensor({-1.0, 0.0, 2.0}).set_requires_grad();
  for (const auto& f : {function_of([](const Tensor& a) { return relu(a); }),
                        function_of([](const Tensor& a) { return abs(a); })}) {
    const auto result = jvp_check(f, {x});
    INFO(result.report());
    REQUIRE(result.passed);
    REQUIRE(result.kinks.size() == 1);
    REQUIRE(result.kinks[0].index == 1);
  }
  const auto outside = jvp_check(planted([](const Tensor& a) { return relu(a); },
                                         [](const Tensor&, const Tensor& dy) {
                                           return mul(dy, tensor({0.0, -0.01, 1.0}));
                                         }),
                                 {x});
  REQUIRE(outside.counts[differs] == 1);
}

TEST_CASE("jvp_check reports what is not deterministic or not finite") {
  auto calls = std::make_shared<int>(0);
  const auto restless = jvp_check(
      function_of([=](const Tensor& x) { return mul(x, static_cast<double>(++*calls)); }), {point({3})});
  REQUIRE(restless.verdict == Verdict::nondeterministic);
  const Tensor zero = tensor({0.0}).set_requires_grad();
  REQUIRE(jvp_check(function_of([](const Tensor& a) { return log(a); }), {zero}).verdict ==
          Verdict::nonfinite);
}

TEST_CASE("jvp_check in f32") {
  const auto right = jvp_check(scaled_exp(1), {point({3, 4}, DType::f32)});
  INFO(right.report());
  REQUIRE(right.passed);
  REQUIRE(right.worst.bar > 1e-8);  // no narrower than f32 allows
  REQUIRE_FALSE(jvp_check(scaled_exp(1.01), {point({3, 4}, DType::f32)}).passed);
  REQUIRE_FALSE(jvp_check(one_element_exp(7), {point({3, 4}, DType::f32)}).passed);
  REQUIRE_FALSE(jvp_check(diagonal_softmax(), {point({2, 5}, DType::f32)}).passed);
}

TEST_CASE("jvp_check refuses what it cannot check") {
  REQUIRE_THROWS_WITH(jvp_check([](const std::vector<Tensor>& x) { return x; }, {zeros({2})}),
                      "jvp_check: no input requires grad; expected at least one");
}
