#include "profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/node.h>
#include <heed/core/parallel.h>
#include <heed/core/tape_clock.h>

#include "ceiling.h"

namespace heed::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Cost {
  double flop = 0;
  double bytes = 0;
};

double elements(const OutputMeta& meta) { return static_cast<double>(element_count(meta.shape)); }

const OutputMeta& input_of(const Edge& edge) { return edge.node->outputs()[edge.output]; }

// The cost of the forward pass. Only matrix products count as arithmetic. Inputs that need no gradient
// (tokens, masks) are left out.
Cost cost_of(const Node& node, double open_share) {
  Cost cost;
  for (const OutputMeta& output : node.outputs()) cost.bytes += 4 * elements(output);
  for (const Edge& edge : node.edges()) {
    if (edge.node) cost.bytes += 4 * elements(input_of(edge));
  }
  const std::string op = node.op();
  const OutputMeta& output = node.outputs()[0];
  if (op == "linear" || op == "matmul") {
    cost.flop = 2 * elements(output) * static_cast<double>(input_of(node.edges()[0]).shape.back());
  } else if (op == "attention") {  // [.., T, D]: two products over T² pairs, of which the mask allows a share
    const Shape& shape = output.shape;
    cost.flop = 4 * elements(output) * static_cast<double>(shape[shape.rank() - 2]) * open_share;
  }
  return cost;
}

std::map<std::string, Cost> costs_of(const Tensor& loss) {
  std::map<std::string, Cost> costs;
  std::set<const Node*> seen;
  std::vector<const Node*> open{loss.impl()->node.get()};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->is_leaf() || !seen.insert(node).second) continue;
    const Cost cost = cost_of(*node, 0.5);
    costs[node->op()].flop += cost.flop;
    costs[node->op()].bytes += cost.bytes;
    for (const Edge& edge : node->edges()) {
      if (edge.node) open.push_back(edge.node.get());
    }
  }
  return costs;
}

struct Profile {
  std::vector<ClockRow> rows;
  double forward = 0, backward = 0, update = 0;  // seconds
  double total() const { return forward + backward + update; }
};

Profile profile_step(TrainingStep& step) {
  Profile profile;
  TapeClock clock;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const Tensor loss = step.forward();
  profile.forward = seconds();
  backward(loss);
  profile.backward = seconds() - profile.forward;
  step.update();
  profile.update = seconds() - profile.forward - profile.backward;
  profile.rows = clock.rows();
  return profile;
}

}  // namespace

void print_profile(const char* name, const TrainingSize& size) {
  set_num_threads(1);
  TrainingStep step(size);
  Profile best = profile_step(step);
  for (int i = 0; i < 20; ++i) {
    const Profile next = profile_step(step);
    if (next.total() < best.total()) best = next;
  }
  const double flop_rate = fma_peak() * 1e9, byte_rate = copy_rate() * 1e9;
  auto costs = costs_of(step.forward());
  fmt::print("{}: {:.1f} ms a step; {:.0f} GFLOP/s and {:.1f} GB/s are the ceilings of one core\n", name,
             best.total() * 1e3, flop_rate / 1e9, byte_rate / 1e9);
  fmt::print("{:<16}{:>6}{:>12}{:>13}{:>8}{:>9}{:>9}{:>10}\n", "operation", "nodes", "forward ms",
             "backward ms", "share", "GFLOP", "MB", "of floor");
  std::sort(best.rows.begin(), best.rows.end(), [](const ClockRow& a, const ClockRow& b) {
    return a.forward + a.backward > b.forward + b.backward;
  });
  double rest = best.forward + best.backward;
  for (const ClockRow& row : best.rows) {
    // The backward computes as many products for each of the two operands, and also reads the cotangent.
    const Cost cost{3 * costs[row.op].flop, 2.5 * costs[row.op].bytes};
    const double seconds = row.forward + row.backward;
    const double floor = std::max(cost.flop / flop_rate, cost.bytes / byte_rate);
    rest -= seconds;
    fmt::print("{:<16}{:>6}{:>12.2f}{:>13.2f}{:>7.1f}%{:>9.3f}{:>9.1f}{:>9.0f}%\n", row.op, row.nodes,
               row.forward * 1e3, row.backward * 1e3, 100 * seconds / best.total(), cost.flop / 1e9,
               cost.bytes / 1e6, 100 * floor / seconds);
  }
  fmt::print("{:<16}{:>6}{:>12}{:>13.2f}{:>7.1f}%\n", "gradients", "", "", rest * 1e3,
             100 * rest / best.total());
  fmt::print("{:<16}{:>6}{:>12}{:>13.2f}{:>7.1f}%\n\n", "clip and AdamW", "", "", best.update * 1e3,
             100 * best.update / best.total());
}

}  // namespace heed::bench
