#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/audit.h>
#include <heed/core/backward.h>
#include <heed/nn/linear.h>
#include <heed/ops/activation.h>

#include "planted.h"

using namespace heed;
using namespace heed::test;
using check::audit;
using check::AuditProblem;

namespace {

// Two layers, of which a test may use one, tie both or let them share elements.
class Pair final : public nn::Module {
 public:
  Pair()
      : Module("pair"),
        first(nn::LinearOptions{.in = 3, .out = 3}, generator()),
        second(nn::LinearOptions{.in = 3, .out = 3, .bias = false}, generator()) {}
  nn::Linear first;
  nn::Linear second;

 protected:
  HEED_MEMBERS(first, second)

 private:
  static Generator& generator() {
    static Generator shared(1);
    return shared;
  }
};

Tensor input() { return point({2, 3}, DType::f32).detach(); }

}  // namespace

TEST_CASE("audit passes a sound model, says so, and leaves gradients and graph alone") {
  Pair model;
  const Tensor loss = sum(model.second(tanh(model.first(input()))));
  const auto report = audit(loss, model);
  INFO(report.report());
  REQUIRE(report.passed);
  REQUIRE(report.parameters == 3);
  REQUIRE(
      report.report() ==
      "audit: 3 parameters, each an array of its own; every gradient has a path, is finite and not all zero");
  REQUIRE_FALSE(model.first.weight.grad().defined());
  backward(loss);
  REQUIRE(model.first.weight.grad().defined());
}

TEST_CASE("audit names a parameter without a path") {
  Pair model;
  const auto report = audit(sum(model.first(input())), model);
  REQUIRE_FALSE(report.passed);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.findings[0].problem == AuditProblem::no_path);
  REQUIRE(report.findings[0].parameter == "second.weight");
  REQUIRE(report.report() ==
          "audit: 3 parameters, 1 findings\n  second.weight  no path        the loss does not depend on it");
}

TEST_CASE("audit names gradients that are exactly zero, and those that are not finite") {
  Pair model;
  // Rectified far below zero: every unit is dead.
  const auto zero = audit(sum(relu(sub(model.second(model.first(input())), 100))), model);
  REQUIRE(zero.findings.size() == 3);
  for (const auto& finding : zero.findings) REQUIRE(finding.problem == AuditProblem::zero_gradient);
  REQUIRE(zero.findings[0].detail == "all 9 elements");

  Tensor factor = ones({2, 3});
  factor.mutable_data<float>()[2] = std::numeric_limits<float>::infinity();
  const auto infinite = audit(sum(mul(model.first(input()), factor)), model);
  REQUIRE(infinite.findings[0].parameter == "first.weight");
  REQUIRE(infinite.findings[0].problem == AuditProblem::nonfinite);
  REQUIRE(infinite.findings[0].detail.find("3 of 9 elements, the first at [2, 0]: ") == 0);
}

TEST_CASE("audit tells tied parameters, which are one, from aliased ones") {
  Pair tied;
  tied.second.weight = tied.first.weight;
  REQUIRE(audit(sum(tied.second(tanh(tied.first(input())))), tied).passed);

  Pair aliased;
  aliased.second.weight = aliased.first.weight.detach().set_requires_grad();
  const auto report = audit(sum(aliased.second(tanh(aliased.first(input())))), aliased);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.findings[0].problem == AuditProblem::aliased);
  REQUIRE(report.findings[0].parameter == "second.weight");
  REQUIRE(report.findings[0].detail == "shares elements with first.weight");
}

TEST_CASE("parameters side by side in one buffer are not aliased") {
  Pair model;
  Tensor buffer = point({18}, DType::f32).detach();
  View left = contiguous_view({3, 3});
  View right = left;
  right.offset = 9;
  model.first.weight = view_of(buffer, left).set_requires_grad();
  model.second.weight = view_of(buffer, right).set_requires_grad();
  REQUIRE(audit(sum(model.second(tanh(model.first(input())))), model).passed);
}

TEST_CASE("audit counts frozen parameters and speaks JSON") {
  Pair model;
  model.first.weight.set_requires_grad(false);
  const auto report = audit(sum(model.second(model.first(input()))), model);
  REQUIRE(report.frozen == 1);
  REQUIRE(report.passed);
  const auto json = nlohmann::json::parse(audit(sum(model.first(input())), model).to_json());
  REQUIRE(json["passed"] == false);
  REQUIRE(json["findings"][0]["problem"] == "no path");
}

TEST_CASE("audit refuses a loss it cannot walk") {
  Pair model;
  REQUIRE_THROWS_AS(audit(sum(input()), model), GradError);
  REQUIRE_THROWS_AS(audit(model.first(input()), model), ShapeError);
}
