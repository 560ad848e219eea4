#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <heed/check/isolation_trace.h>
#include <heed/core/checkpoint.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/tape_trace.h>

namespace heed::check {
namespace {

// Thrown to end a run early, once enough of it was seen.
struct Enough {};

// A copy of x, which is a leaf if it is floating, so that a tape is recorded.
Tensor leaf_of(const Tensor& x) {
  Tensor leaf = copy_of(x);
  if (is_floating(leaf.dtype())) leaf.set_requires_grad();
  return leaf;
}

Tensor row_major(const Tensor& x) { return x.is_contiguous() ? x : copy_of(x); }

const std::byte* bytes_of(const Tensor& x) {
  return x.storage()->data() + static_cast<std::size_t>(x.offset()) * size_of(x.dtype());
}

void compare(TracedChange& change, const TracedResult& result, const TapeEvent& event) {
  change.seen = true;
  change.comparable =
      event.value.shape() == result.value.shape() && event.value.dtype() == result.value.dtype();
  if (change.comparable) change.elements = differing(result.value, event.value);
}

}  // namespace

Tensor TracedResult::handle() const {
  Tensor handle = value.detach();
  handle.impl()->node = node;
  handle.impl()->output = output;
  return handle;
}

std::int64_t Trace::number_of(const Edge& edge) const {
  const auto at = first_result.find(edge.node.get());
  return at == first_result.end() ? -1 : at->second + edge.output;
}

std::vector<bool> Trace::reaches_output() const {
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> seen;
  if (y.requires_grad()) nodes.push_back(y.impl()->node.get());
  seen.insert(nodes.begin(), nodes.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->edges()) {
      if (edge.node && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
  }
  std::vector<bool> reaches;
  for (const TracedResult& result : results) reaches.push_back(seen.count(result.node.get()) > 0);
  return reaches;
}

Trace trace_of(const SequenceModel& model, const Tensor& x) {
  const GradMode mode(true);
  const OpenCheckpoints open;
  Trace trace{.leaf = leaf_of(x), .y = {}, .results = {}, .first_result = {}};
  const TapeTrace watching([&](const TapeEvent& event) {
    if (event.is_gradient) return;
    const auto number = static_cast<std::int64_t>(trace.results.size());
    trace.first_result.emplace(&event.node, number);
    trace.results.push_back({Ref<Node>(const_cast<Node*>(&event.node)),
                             static_cast<std::uint32_t>(event.number), event.value.detach()});
  });
  trace.y = model(trace.leaf);
  return trace;
}

bool TracedChange::any() const { return std::find(elements.begin(), elements.end(), true) != elements.end(); }

std::vector<TracedChange> changes_by(const SequenceModel& model, const Tensor& other, const Trace& trace,
                                     std::int64_t last) {
  const GradMode mode(true);
  const OpenCheckpoints open;
  std::vector<TracedChange> changes(trace.results.size());
  std::size_t next = 0;
  const TapeTrace watching([&](const TapeEvent& event) {
    if (event.is_gradient) return;
    const bool same = next < changes.size() &&
                      std::string_view(event.node.op()) == trace.results[next].node->op() &&
                      event.number == trace.results[next].output;
    if (!same) throw Enough();
    compare(changes[next], trace.results[next], event);
    if (static_cast<std::int64_t>(++next) > last) throw Enough();
  });
  try {
    model(leaf_of(other));
  } catch (const Enough&) {
  }
  return changes;
}

std::vector<bool> differing(const Tensor& a, const Tensor& b) {
  const Tensor left = row_major(a);
  const Tensor right = row_major(b);
  std::vector<bool> differ(static_cast<std::size_t>(a.numel()), false);
  if (differ.empty()) return differ;
  const std::size_t size = size_of(a.dtype());
  const std::byte* p = bytes_of(left);
  const std::byte* q = bytes_of(right);
  if (std::memcmp(p, q, size * differ.size()) == 0) return differ;
  for (std::size_t e = 0; e < differ.size(); ++e) {
    differ[e] = std::memcmp(p + e * size, q + e * size, size) != 0;
  }
  return differ;
}

}  // namespace heed::check
