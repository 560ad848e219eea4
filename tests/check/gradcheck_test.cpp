#include <cmath>
#include <limits>
#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/gradcheck.h>
#include <heed/ops/activation.h>
#include <heed/ops/cast.h>
#include <heed/ops/extremum.h>
#include <heed/ops/rounding.h>

#include "planted.h"

using namespace heed;
using namespace heed::test;
using check::gradcheck;
using check::gradgradcheck;
using check::Verdict;

namespace {

const Tensor square_matrix() { return point({3, 3}, DType::f64, 9).detach(); }

}  // namespace

TEST_CASE("gradcheck passes a right derivative, counts its elements and says how far it is proven") {
  const auto result = gradcheck(scaled_exp(1), {point({3, 4})});
  REQUIRE(result.passed);
  REQUIRE(result.checked == 12);
  REQUIRE(result.counts[static_cast<std::size_t>(Verdict::agrees)] == 12);
  REQUIRE(result.proven < 1e-9);  // what the default tolerance asks for
  REQUIRE(result.report().find("12 elements agree") != std::string::npos);
}

TEST_CASE("gradcheck finds a sign, a factor, a transposed operand and a Jacobian without its off-diagonal") {
  for (const bool extrapolate : {true, false}) {
    const check::GradcheckOptions options{.extrapolate = extrapolate};
    REQUIRE_FALSE(gradcheck(scaled_exp(-1), {point({3, 4})}, options).passed);
    REQUIRE_FALSE(gradcheck(scaled_exp(1.0001), {point({3, 4})}, options).passed);
    REQUIRE_FALSE(gradcheck(transposed_product(square_matrix()), {point({3, 3})}, options).passed);
    REQUIRE_FALSE(gradcheck(diagonal_softmax(), {point({2, 5})}, options).passed);
  }
}

TEST_CASE("extrapolation finds an error of 1e-7 that a fixed step passes") {
  REQUIRE(gradcheck(scaled_exp(1 + 1e-7), {point({3, 4})}, {.extrapolate = false}).passed);
  REQUIRE_FALSE(gradcheck(scaled_exp(1 + 1e-7), {point({3, 4})}).passed);
}

TEST_CASE("gradcheck names the one wrong element by its index") {
  const auto result = gradcheck(one_element_exp(7), {point({3, 4})});
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.failures.size() == 1);
  REQUIRE(result.verdict == Verdict::differs);
  REQUIRE(result.worst.index == 7);
  REQUIRE(result.worst.position == Shape{1, 3});
  REQUIRE(result.worst.analytic == Approx(1.01 * result.worst.numeric).epsilon(1e-9));  // the planted factor
  REQUIRE(result.report().find("[1, 3]") != std::string::npos);
  REQUIRE(result.report().find("11 agrees, 1 differs") != std::string::npos);
}

TEST_CASE("cotangents are random: a softmax whose rule is scaled is found") {
  // With a plain sum the gradient of softmax is zero, whatever the factor.
  const check::Function scaled = [](const std::vector<Tensor>& x) {
    const Tensor y = softmax(x[0]);
    Tensor z = y.detach();
    z = add(z, mul(sub(y, y.detach()), 1.01));
    return std::vector<Tensor>{z};
  };
  REQUIRE_FALSE(gradcheck(scaled, {point({2, 5})}).passed);
}

TEST_CASE("a gradient of zero agrees, a missing one does not") {
  REQUIRE(gradcheck(function_of([](const Tensor& x) { return sum(softmax(x)); }), {point({6})}).passed);
  const auto missing = gradcheck(planted([](const Tensor& x) { return exp(x); },
                                         [](const Tensor& x, const Tensor&) { return zeros_like(x); }),
                                 {point({3})});
  REQUIRE(missing.counts[static_cast<std::size_t>(Verdict::differs)] == 3);
}

TEST_CASE("gradgradcheck finds what is wrong only in second order") {
  for (const bool extrapolate : {true, false}) {
    const check::GradcheckOptions options{.extrapolate = extrapolate};
    REQUIRE(gradcheck(first_order_square(), {point({3})}, options).passed);
    const auto second = gradgradcheck(first_order_square(), {point({3})}, options);
    REQUIRE_FALSE(second.passed);
    REQUIRE(second.report().find("gradgradcheck: failed") == 0);
    REQUIRE(gradgradcheck(scaled_exp(1), {point({2, 3})}, options).passed);
  }
}

TEST_CASE("at a kink the gradient lies between the sides, or it is wrong") {
  const Tensor x = tensor({-1.0, 0.0, 2.0}).set_requires_grad();
  const auto rectified = gradcheck(function_of([](const Tensor& a) { return relu(a); }), {x});
  INFO(rectified.report());
  REQUIRE(rectified.passed);
  REQUIRE(rectified.verdict == Verdict::kink);
  REQUIRE(rectified.kinks.size() == 1);
  REQUIRE(rectified.kinks[0].index == 1);
  REQUIRE(rectified.report().find("kink: within [") != std::string::npos);
  REQUIRE(gradcheck(function_of([](const Tensor& a) { return abs(a); }), {x}).passed);

  const auto outside = gradcheck(planted([](const Tensor& a) { return relu(a); },
                                         [](const Tensor&, const Tensor& dy) {
                                           return mul(dy, tensor({0.0, 1.01, 1.0}));
                                         }),
                                 {x});
  REQUIRE_FALSE(outside.passed);
  REQUIRE(outside.failures.size() == 1);
  REQUIRE(outside.failures[0].index == 1);
  REQUIRE(outside.report().find("differs: outside [") != std::string::npos);
}

TEST_CASE("a tie of max is a kink, and a share outside of it is found") {
  const Tensor x = tensor({3.0, 1.0, 3.0}).set_requires_grad();
  const auto tie = gradcheck(function_of([](const Tensor& a) { return amax(a, {0}, false); }), {x});
  INFO(tie.report());
  REQUIRE(tie.passed);
  REQUIRE(tie.kinks.size() == 2);
  REQUIRE(tie.kinks[0].analytic == 0.5);
}

TEST_CASE("a kink beside the point raises no alarm") {
  const Tensor x = tensor({1e-3, -1e-5, 1e-7}).set_requires_grad();
  REQUIRE(gradcheck(function_of([](const Tensor& a) { return relu(a); }), {x}).counts[0] == 3);
}

TEST_CASE("non-deterministic functions and gradients are reported as such") {
  auto calls = std::make_shared<int>(0);
  const auto restless = gradcheck(
      function_of([=](const Tensor& x) { return mul(x, static_cast<double>(++*calls)); }), {point({3})});
  REQUIRE_FALSE(restless.passed);
  REQUIRE(restless.verdict == Verdict::nondeterministic);
  REQUIRE(restless.checked == 0);
  REQUIRE(restless.report().find(
              "gradcheck: non-deterministic; two evaluations at one point differ: output 0 at [0]") == 0);
  const auto gradient = gradcheck(planted([](const Tensor& x) { return exp(x); },
                                          [=](const Tensor& x, const Tensor& dy) {
                                            return mul(mul(dy, exp(x)), static_cast<double>(++*calls));
                                          }),
                                  {point({3})});
  REQUIRE(gradient.verdict == Verdict::nondeterministic);
  REQUIRE(gradient.report().find("gradient 0 at [0]") != std::string::npos);
}

TEST_CASE("what is not finite is reported as such") {
  const Tensor x = tensor({1.0, 0.0}).set_requires_grad();
  const auto value = gradcheck(function_of([](const Tensor& a) { return log(a); }), {x});
  REQUIRE(value.verdict == Verdict::nonfinite);
  REQUIRE(value.report() == "gradcheck: not finite; not finite at the point: output 0 at [1] is -inf");
  const auto gradient =
      gradcheck(planted([](const Tensor& a) { return exp(a); },
                        [](const Tensor&, const Tensor& dy) {
                          return mul(dy, tensor({std::exp(1.0), std::numeric_limits<double>::quiet_NaN()}));
                        }),
                {x});
  REQUIRE(gradient.failures.size() == 1);
  REQUIRE(gradient.failures[0].verdict == Verdict::nonfinite);
  REQUIRE(gradient.failures[0].index == 1);
}

TEST_CASE("a jump proves nothing and fails as unresolved or different") {
  const Tensor x = tensor({0.0}).set_requires_grad();
  const auto jump = gradcheck(planted([](const Tensor& a) { return sign(add(a, 1e-300)); },
                                      [](const Tensor&, const Tensor& dy) { return mul(dy, 0.0); }),
                              {x});
  REQUIRE_FALSE(jump.passed);
}

TEST_CASE("f32: bars grow with its rounding, right passes and one percent is found") {
  const auto right = gradcheck(scaled_exp(1), {point({3, 4}, DType::f32)});
  INFO(right.report());
  REQUIRE(right.passed);
  REQUIRE(right.worst.bar > 1e-8);  // no narrower than f32 allows
  REQUIRE(right.proven < 1e-3);     // a few roundings of 6e-8 over a step of 1/16, extrapolated
  REQUIRE_FALSE(gradcheck(scaled_exp(1.01), {point({3, 4}, DType::f32)}).passed);
  REQUIRE_FALSE(gradcheck(scaled_exp(-1), {point({3, 4}, DType::f32)}).passed);
  REQUIRE_FALSE(gradcheck(one_element_exp(7), {point({3, 4}, DType::f32)}).passed);
  REQUIRE_FALSE(gradcheck(diagonal_softmax(), {point({2, 5}, DType::f32)}).passed);
  REQUIRE(gradgradcheck(scaled_exp(1), {point({2, 3}, DType::f32)}).passed);
  REQUIRE_FALSE(gradgradcheck(first_order_square(), {point({3}, DType::f32)}).passed);
  const Tensor x = tensor({-1.F, 0.F, 2.F}).set_requires_grad();
  REQUIRE(gradcheck(function_of([](const Tensor& a) { return relu(a); }), {x}).kinks.size() == 1);
}

TEST_CASE("f64 inputs of a function that computes in f32 are judged as f32") {
  const auto result =
      gradcheck(function_of([](const Tensor& a) { return exp(cast(a, DType::f32)); }), {point({4})});
  INFO(result.report());
  REQUIRE(result.passed);
}

TEST_CASE("inputs that need no gradient are held fixed; the caller's tensors are left alone") {
  const Tensor a = point({2, 3});
  Generator generator(2);
  const Tensor b = randn({3, 2}, generator, DType::f64);
  const auto before = a.to_vector<double>();
  const auto result =
      gradcheck([](const std::vector<Tensor>& x) { return std::vector<Tensor>{matmul(x[0], x[1])}; }, {a, b});
  REQUIRE(result.passed);
  REQUIRE(result.checked == 6);
  REQUIRE(a.to_vector<double>() == before);
  REQUIRE_FALSE(a.grad().defined());
}

TEST_CASE("gradcheck samples elements when asked to") {
  REQUIRE(gradcheck(scaled_exp(1), {point({10, 10})}, {.max_elements = 7}).checked == 7);
}

TEST_CASE("inputs without elements leave nothing to check, whatever the value") {
  const Tensor empty = zeros({0, 3}, DType::f64).set_requires_grad();
  const auto result = gradcheck(function_of([](const Tensor& x) { return log(sum(x, {0})); }), {empty});
  REQUIRE(result.passed);
  REQUIRE(result.checked == 0);
}

TEST_CASE("the result as JSON") {
  const auto json = nlohmann::json::parse(gradcheck(one_element_exp(7), {point({3, 4})}).to_json());
  REQUIRE(json["check"] == "gradcheck");
  REQUIRE(json["passed"] == false);
  REQUIRE(json["counts"]["agrees"] == 11);
  REQUIRE(json["failures"].size() == 1);
  REQUIRE(json["failures"][0]["index"] == nlohmann::json({1, 3}));
  REQUIRE(json["failures"][0]["verdict"] == "differs");
  const Tensor x = tensor({0.0}).set_requires_grad();
  const auto kink =
      nlohmann::json::parse(gradcheck(function_of([](const Tensor& a) { return abs(a); }), {x}).to_json());
  REQUIRE(kink["kinks"][0]["left"] == -1.0);
  REQUIRE(kink["kinks"][0]["right"] == 1.0);
}

TEST_CASE("gradcheck refuses what it cannot check") {
  const check::Function identity = [](const std::vector<Tensor>& x) { return x; };
  REQUIRE_THROWS_WITH(gradcheck(identity, {zeros({2}).set_requires_grad()}, {.extrapolate = false}),
                      "gradcheck: dtype not supported, an input of the fast form is f32[2]; expected f64");
  REQUIRE_THROWS_WITH(gradcheck(identity, {zeros({2}, DType::f64)}),
                      "gradcheck: no input requires grad; expected at least one");
}
