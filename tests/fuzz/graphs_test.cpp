// Random graphs of smooth operations with shared nodes, to depth 8, against difference quotients in f64.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>

#include "graph_ops.h"
#include "program.h"

using namespace heed;
using namespace heed::test::fuzz;

namespace {

constexpr std::size_t leaves = 3;
constexpr int most_depth = 8;

// A node: an operation of the nodes `a` and `b`, the leaves being the first ones.
struct GraphNode {
  const GraphOp* op = nullptr;
  std::size_t a = 0;
  std::size_t b = 0;
  std::uint32_t variant = 0;
};

// Operands are drawn from all nodes that are not too deep, every other time from the last three.
std::vector<GraphNode> graph_of(const Program& program) {
  std::vector<GraphNode> nodes(leaves);
  std::vector<int> depth(leaves, 0);
  for (const Step& step : program) {
    std::vector<std::size_t> shallow;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (depth[i] < most_depth) shallow.push_back(i);
    }
    const auto operand = [&](std::uint32_t number) {
      const std::size_t from = number % 2 == 0 ? shallow.size() : std::min<std::size_t>(shallow.size(), 3);
      return shallow[shallow.size() - 1 - (number >> 1) % from];
    };
    const GraphNode node{&graph_ops()[step.numbers[0] % graph_ops().size()], operand(step.numbers[1]),
                         operand(step.numbers[2]), step.numbers[3]};
    nodes.push_back(node);
    depth.push_back(1 + std::max(depth[node.a], depth[node.b]));
  }
  return nodes;
}

std::string text_of(const std::vector<GraphNode>& nodes) {
  std::ostringstream text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text << "x" << i << " = ";
    if (nodes[i].op == nullptr) {
      text << "leaf\n";
    } else {
      text << nodes[i].op->formula << ", a = x" << nodes[i].a << ", b = x" << nodes[i].b << ", variant "
           << nodes[i].variant % 60 << "\n";
    }
  }
  return text.str();
}

// Results: the nodes that no other uses.
check::Function function_of(std::vector<GraphNode> nodes) {
  std::vector<bool> used(nodes.size(), false);
  for (std::size_t i = leaves; i < nodes.size(); ++i) used[nodes[i].a] = used[nodes[i].b] = true;
  for (std::size_t i = 0; i < leaves; ++i) used[i] = true;
  return [nodes = std::move(nodes), used](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values = inputs;
    std::vector<Tensor> results;
    for (std::size_t i = leaves; i < nodes.size(); ++i) {
      const GraphNode& n = nodes[i];
      values.push_back(
          n.op->function(values[n.a], values[n.b], n.variant % 60));  // 60: whole rounds of 2, 3, 4 and 5
      if (!used[i]) results.push_back(values[i]);
    }
    return results;
  };
}

std::vector<Tensor> inputs() {
  Generator generator(9);
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < leaves; ++i)
    x.push_back(randn({2, 4}, generator, DType::f64).set_requires_grad());
  return x;
}

using Check = check::GradcheckResult (*)(const check::Function&, const std::vector<Tensor>&);

Trial trial_of(Check check) {
  return [check](const Program& program) -> Outcome {
    const auto nodes = graph_of(program);
    if (nodes.size() == leaves) return {};
    const auto result = check(function_of(nodes), inputs());
    return {text_of(nodes), result.passed ? "" : result.report()};
  };
}

}  // namespace

TEST_CASE("random graphs have the gradients of their difference quotients", "[fuzz]") {
  run(600, 14, trial_of([](const check::Function& f, const std::vector<Tensor>& x) {
        return check::gradcheck(f, x, {.atol = 1e-11});  // a graph may be constant but for rounding
      }));
}

TEST_CASE("random graphs can be differentiated twice", "[fuzz]") {
  run(40, 8, trial_of([](const check::Function& f, const std::vector<Tensor>& x) {
        return check::gradgradcheck(f, x, {.extrapolate = false});
      }));
}

TEST_CASE("every operation of the random graphs keeps the shape and is right alone", "[fuzz]") {
  for (std::uint32_t i = 0; i < graph_ops().size(); ++i) {
    for (std::uint32_t variant = 0; variant < 2; ++variant) {
      INFO(graph_ops()[i].formula);
      const Program program{{{i, 0, 2, variant}}};
      const auto f = function_of(graph_of(program));
      REQUIRE(f(inputs()).at(0).shape() == Shape{2, 4});
      const auto result = check::gradcheck(f, inputs());
      INFO(result.report());
      REQUIRE(result.passed);
    }
  }
}
