#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/taylor.h>
#include <heed/ops/activation.h>
#include <heed/ops/rounding.h>

#include "planted.h"

using namespace heed;
using namespace heed::test;
using check::taylor_check;
using check::Verdict;

namespace {

const Tensor direction_matrix() { return point({3, 3}, DType::f64, 9).detach(); }

// 0.05: remainders are taken where rounding is below a sixteenth of them, and the next order
// below a thousandth.
void require_slope(const check::TaylorResult& result, double slope) {
  INFO(result.report());
  REQUIRE(result.slope);
  REQUIRE(*result.slope == Approx(slope).margin(0.05));
}

}  // namespace

TEST_CASE("the Taylor remainder of a right derivative has slope 2") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto result = taylor_check(scaled_exp(1), {point({3, 4}, dtype)});
    require_slope(result, 2);
    REQUIRE(result.passed);
    REQUIRE(
        taylor_check(function_of([](const Tensor& x) { return softmax(x); }), {point({2, 5}, dtype)}).passed);
  }
}

TEST_CASE("the Taylor remainder of a wrong derivative has slope 1") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const auto& wrong : {scaled_exp(-1), scaled_exp(1.01), one_element_exp(7)}) {
      const auto result = taylor_check(wrong, {point({3, 4}, dtype)});
      INFO(result.report());
      REQUIRE_FALSE(result.passed);
      REQUIRE(result.verdict == Verdict::differs);
      // In f32 the steps end where a small error and the second order still mix.
      REQUIRE(*result.slope < 1.2);
      if (dtype == DType::f64) require_slope(result, 1);
    }
    REQUIRE_FALSE(taylor_check(diagonal_softmax(), {point({2, 5}, dtype)}).passed);
  }
  REQUIRE_FALSE(taylor_check(scaled_exp(1 + 1e-6), {point({3, 4})}).passed);
}

TEST_CASE("a linear function leaves no remainder: said so, and a wrong rule is still found") {
  const Tensor w = direction_matrix();
  const auto right =
      taylor_check(function_of([=](const Tensor& x) { return matmul(x, w); }), {point({3, 3})});
  INFO(right.report());
  REQUIRE(right.passed);
  REQUIRE(right.linear);
  REQUIRE_FALSE(right.slope);
  REQUIRE(right.report().find("linear along the direction") != std::string::npos);
  const auto wrong = taylor_check(transposed_product(w), {point({3, 3})});
  REQUIRE_FALSE(wrong.passed);
  require_slope(wrong, 1);
}

TEST_CASE("a function that is linear in pieces counts as linear away from its kinks") {
  const Tensor x = tensor({-1.0, 0.02, 0.11, 2.0}).set_requires_grad();
  const auto result = taylor_check(function_of([](const Tensor& a) { return relu(a); }), {x});
  INFO(result.report());
  REQUIRE(result.passed);
  REQUIRE(result.linear);
}

TEST_CASE("a vanishing second derivative gives a slope of 3, which passes") {
  const Tensor x = zeros({2}, DType::f64).set_requires_grad();
  const auto result = taylor_check(function_of([](const Tensor& a) { return tanh(a); }), {x});
  require_slope(result, 3);
  REQUIRE(result.passed);
}

TEST_CASE("at a kink the slope is 1, and the signs of the remainders tell right from wrong") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Tensor x = zeros({3}, dtype);
    x.set_requires_grad();
    const auto right = taylor_check(function_of([](const Tensor& a) { return add(abs(a), exp(a)); }), {x});
    INFO(right.report());
    REQUIRE(right.passed);
    REQUIRE(right.verdict == Verdict::kink);
    const auto outside = taylor_check(planted([](const Tensor& a) { return abs(a); },
                                              [](const Tensor&, const Tensor& dy) { return mul(dy, 1.25); }),
                                      {x});
    REQUIRE_FALSE(outside.passed);
    REQUIRE(outside.verdict == Verdict::differs);
  }
}

TEST_CASE("taylor_check reports what is not deterministic or not finite, and speaks JSON") {
  auto calls = std::make_shared<int>(0);
  const auto restless = taylor_check(
      function_of([=](const Tensor& x) { return mul(x, static_cast<double>(++*calls)); }), {point({3})});
  REQUIRE_FALSE(restless.passed);
  REQUIRE(restless.verdict == Verdict::nondeterministic);
  REQUIRE(restless.report().find("taylor_check: non-deterministic; two evaluations") == 0);
  const Tensor zero = tensor({0.0}).set_requires_grad();
  REQUIRE(taylor_check(function_of([](const Tensor& a) { return log(a); }), {zero}).verdict ==
          Verdict::nonfinite);
  const auto json = nlohmann::json::parse(taylor_check(scaled_exp(1), {point({3})}).to_json());
  REQUIRE(json["passed"] == true);
  REQUIRE(json["slope"].get<double>() == Approx(2).margin(0.05));  // as above
  REQUIRE(json["rows"].size() == 27);
}

TEST_CASE("taylor_check refuses what it cannot check") {
  REQUIRE_THROWS_WITH(taylor_check([](const std::vector<Tensor>& x) { return x; }, {zeros({2})}),
                      "taylor_check: no input requires grad; expected at least one");
}
