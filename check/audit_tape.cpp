#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include <heed/check/audit_tape.h>
#include <heed/check/function.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/node.h>

namespace heed::check {
namespace {

// Consumers first.
std::vector<Node*> nodes_on_tape(const Tensor& result) {
  std::vector<Node*> nodes{result.impl()->node.get()};
  std::unordered_set<const Node*> seen{nodes[0]};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->edges()) {
      if (edge.node && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node* a, const Node* b) { return a->order() > b->order(); });
  return nodes;
}

bool is_lookup(const Node& node) { return std::string_view(node.op()) == "embedding"; }

bool reads(const Node& node, const Node* operand) {
  const auto edges = node.edges();
  return std::any_of(edges.begin(), edges.end(),
                     [&](const Edge& edge) { return edge.node.get() == operand; });
}

// The result of a node, without its elements.
Tensor handle_of(Node* node) {
  const OutputMeta& meta = node->outputs()[0];
  Tensor handle = empty(meta.shape, meta.dtype);
  handle.impl()->node = Ref<Node>(node);
  return handle;
}

}  // namespace

std::vector<TapeLeaf> leaves_on_tape(const Tensor& result) {
  const std::vector<Node*> nodes = nodes_on_tape(result);
  std::vector<TapeLeaf> leaves;
  for (const Node* leaf : nodes) {
    if (!leaf->is_leaf()) continue;
    const OutputMeta& meta = leaf->outputs()[0];
    std::string text = fmt::format("{}{}", name_of(meta.dtype), meta.shape.str());
    // The first operation that read it is the last of this order.
    const auto reader =
        std::find_if(nodes.rbegin(), nodes.rend(), [&](const Node* node) { return reads(*node, leaf); });
    if (reader != nodes.rend()) {
      text += fmt::format(", read by {}", (*reader)->op());
      if ((*reader)->scope() != nullptr) text += " in " + (*reader)->scope()->path();
    }
    leaves.push_back({leaf, std::move(text)});
  }
  return leaves;
}

// The gradient of a lookup's own result counts how often it took each row.
std::vector<bool> rows_looked_up(const Tensor& result, const Tensor& table) {
  const std::vector<Node*> nodes = nodes_on_tape(result);
  std::vector<Tensor> lookups;
  for (Node* node : nodes) {
    if (!is_lookup(*node) || !reads(*node, table.impl()->node.get())) continue;
    const auto padded = std::find_if(nodes.begin(), nodes.end(), [&](const Node* consumer) {
      return is_lookup(*consumer) && reads(*consumer, node);
    });
    lookups.push_back(handle_of(padded == nodes.end() ? node : *padded));
  }
  if (lookups.empty()) return {};
  std::vector<Tensor> ones;
  for (const Tensor& lookup : lookups) ones.push_back(heed::ones(lookup.shape(), lookup.dtype()));
  const Tensor tables[] = {table};
  const auto counts = grad(lookups, tables, {.grad_outputs = ones, .retain_graph = true});
  const std::vector<double> count = numbers_of(counts[0]);
  const auto rows = static_cast<std::size_t>(table.size(0));
  std::vector<bool> taken(rows, false);
  for (std::size_t e = 0; e < count.size(); ++e) {
    if (count[e] != 0) taken[e / (count.size() / rows)] = true;
  }
  return taken;
}

}  // namespace heed::check
