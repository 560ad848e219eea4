#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <heed/core/anomaly.h>
#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/tape_observer.h>
#include <heed/core/vjp_context.h>
#include <heed/core/walk.h>

namespace heed::detail {
namespace {

constexpr std::uint32_t none = NodeIndex::none;

void validate(const Node& node, std::size_t input, const Tensor& gradient, const OutputMeta& meta) {
  if (gradient.shape() == meta.shape && gradient.dtype() == meta.dtype) return;
  const Scope place(node.scope());
  fail<GradError>(node.op(), fmt::format("wrong gradient for input {}", input), describe(gradient),
                  fmt::format("{}{}", name_of(meta.dtype), meta.shape.str()));
}

}  // namespace

Walk::Walk(bool create_graph, bool retain_graph) : create_graph_(create_graph), retain_graph_(retain_graph) {}

void Walk::add_root(const Tensor& output, Tensor cotangent) {
  TensorImpl* impl = output.impl();
  const std::uint32_t at = entry_of(impl->node.get());
  roots_.push_back(impl->node);
  root_cotangents_.push_back({at, impl->output, std::move(cotangent)});
}

void Walk::stop_at(const Tensor& x) {
  roots_.push_back(x.impl()->node);
  entries_[entry_of(x.impl()->node.get())].boundary = true;
}

// Breadth first; entries_ is its own queue.
void Walk::collect() {
  std::uint32_t slot_count = 0;
  std::uint64_t last_order = (std::numeric_limits<std::uint64_t>::max)();
  bool sorted = true;
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const Node* node = entries_[i].node;
    entries_[i].first_edge = static_cast<std::uint32_t>(producers_.size());
    entries_[i].first_slot = slot_count;
    entries_[i].slots = static_cast<std::uint32_t>(node->outputs().size());
    entries_[i].leaf = node->is_leaf();
    entries_[i].released = node->released();
    slot_count += entries_[i].slots;
    // Leaves have order number 0. The other nodes of a chain are found in descending order already.
    if (entries_[i].leaf) {
      leaves.push_back(i);
    } else {
      sorted = sorted && node->order() <= last_order;
      last_order = node->order();
      descending_.push_back(i);
    }
    if (entries_[i].boundary) continue;
    entries_[i].edges = static_cast<std::uint32_t>(node->edges().size());
    for (const Edge& edge : node->edges()) producers_.push_back(edge.node ? entry_of(edge.node.get()) : none);
  }
  if (!sorted) {
    std::stable_sort(descending_.begin(), descending_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return entries_[a].node->order() > entries_[b].node->order();
    });
  }
  descending_.insert(descending_.end(), leaves.begin(), leaves.end());
  slots_.resize(slot_count);
}

void Walk::want_all_leaves() {
  for (Entry& entry : entries_) entry.wanted = entry.leaf;
}

std::uint32_t Walk::want(const Tensor& x) {
  const std::uint32_t at = index_.find(x.impl()->node.get());
  if (at == none || x.impl()->output >= entries_[at].slots) return none;
  entries_[at].wanted = true;
  return entries_[at].first_slot + x.impl()->output;
}

// Ascending: an entry must run when one of its producers is wanted or must run itself.
void Walk::mark() {
  const Node* freed = nullptr;  // the one nearest to the outputs
  for (auto it = descending_.rbegin(); it != descending_.rend(); ++it) {
    Entry& entry = entries_[*it];
    if (entry.boundary) continue;
    const std::span producers(producers_.data() + entry.first_edge, entry.edges);
    for (const std::uint32_t producer : producers) {
      entry.runs |= producer != none && (entries_[producer].wanted || entries_[producer].runs);
    }
    if (!entry.runs) continue;
    if (entry.released) freed = entry.node;
    for (const std::uint32_t producer : producers) {
      if (producer != none) ++entries_[producer].consumers;
    }
  }
  if (freed != nullptr) {
    fail<GradError>("backward", "the graph was freed by an earlier backward",
                    fmt::format("{} was already run", freed->op()),
                    "retain_graph = true in the earlier call");
  }
}

void Walk::run_backward() {
  store_ = true;
  run();
}

std::vector<Tensor> Walk::run_grad(std::span<const std::uint32_t> slots) {
  wanted_slots_ = slots;
  captured_.resize(slots.size());
  run();
  return std::move(captured_);
}

void Walk::run() {
  const GradMode mode(create_graph_);
  for (Root& root : root_cotangents_) {
    add(entries_[root.entry].first_slot + root.output, std::move(root.cotangent));
  }
  for (std::size_t k = 0; k < descending_.size(); ++k) {
    const Entry& entry = entries_[descending_[k]];
    // In a large graph the next nodes are not in the caches: they are fetched while this one runs.
    if (k + 2 < descending_.size()) {
      const Node* const next = entries_[descending_[k + 2]].node;
      __builtin_prefetch(next);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(next) + 64);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(next) + 128);
    }
    if (has_cotangent(entry)) {
      prepare(entry);
      if (entry.wanted) finish(entry);
      if (entry.runs) {
        run_node(entry);
      } else {
        clear(entry);
      }
    }
    if (entry.runs) finish_leaves(entry);
  }
}

std::uint32_t Walk::entry_of(Node* node) {
  const auto [at, added] = index_.insert(node);
  if (added) entries_.push_back({node});
  return at;
}

std::span<Tensor> Walk::slots_of(const Entry& entry) {
  return {slots_.data() + entry.first_slot, entry.slots};
}

bool Walk::has_cotangent(const Entry& entry) {
  const auto slots = slots_of(entry);
  return std::any_of(slots.begin(), slots.end(), [](const Tensor& t) { return t.defined(); });
}

void Walk::clear(const Entry& entry) {
  for (Tensor& slot : slots_of(entry)) slot = Tensor();
}

// The cotangents of an entry are complete: its hooks see them.
void Walk::prepare(const Entry& entry) {
  const HookList* hooks = entry.boundary ? nullptr : entry.node->hooks();
  if (hooks == nullptr && !TapeObserver::any()) [[likely]]
    return;
  const std::span<Tensor> slots = slots_of(entry);
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].defined()) continue;
    if (hooks != nullptr) slots[i] = hooks->run(*entry.node, i, std::move(slots[i]));
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.on_cotangent(*entry.node, i, slots[i]); });
  }
}

void Walk::finish(const Entry& entry) {
  if (store_) {
    auto& leaf = static_cast<LeafNode&>(*entry.node);
    leaf.accumulate(std::move(slots_[entry.first_slot]));
    leaf.run_stored_hooks();
    return;
  }
  const auto end = entry.first_slot + entry.slots;
  for (std::size_t k = 0; k < wanted_slots_.size(); ++k) {
    const std::uint32_t at = wanted_slots_[k];
    if (at >= entry.first_slot && at < end) captured_[k] = slots_[at];
  }
}

// An entry has run, or was passed over: leaves without another consumer to come are complete.
void Walk::finish_leaves(const Entry& consumer) {
  for (std::size_t k = 0; k < consumer.edges; ++k) {
    const std::uint32_t at = producers_[consumer.first_edge + k];
    if (at == none || --entries_[at].consumers > 0) continue;
    const Entry& leaf = entries_[at];
    if (!leaf.leaf || !leaf.wanted || !slots_[leaf.first_slot].defined()) continue;
    prepare(leaf);
    finish(leaf);
    clear(leaf);
  }
}

void Walk::run_node(const Entry& entry) {
  Node& node = *entry.node;
  const std::size_t edges = entry.edges;
  gradients_.assign(edges, Tensor());
  needed_.assign(edges, 0);
  for (std::size_t k = 0; k < edges; ++k) {
    const std::uint32_t producer = producers_[entry.first_edge + k];
    needed_[k] = producer != none && (entries_[producer].wanted || entries_[producer].runs);
  }
  VjpContext context(node, slots_of(entry), gradients_, needed_, retain_graph_);
  const bool observed = TapeObserver::any();
  if (observed) [[unlikely]]
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.before_vjp(node); });
  call_vjp(node, context);
  if (observed) [[unlikely]]
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.after_vjp(node); });
  clear(entry);
  if (!retain_graph_) node.release();
  for (std::size_t k = 0; k < edges; ++k) {
    if (!gradients_[k].defined()) continue;
    const Entry& producer = entries_[producers_[entry.first_edge + k]];
    const std::uint32_t output = node.edges()[k].output;
    validate(node, k, gradients_[k], producer.node->outputs()[output]);
    if (observed) [[unlikely]]
      TapeObserver::tell_all([&](TapeObserver& observer) { observer.on_gradient(node, k, gradients_[k]); });
    add(producer.first_slot + output, std::move(gradients_[k]));
  }
}

// What a rule computes, and what it throws, belongs to the module of its operation. AnomalyMode judges a rule
// by its gradients, not by the operations it is made of, so that its message names the forward operation.
void Walk::call_vjp(Node& node, VjpContext& context) {
  const Scope scope(node.scope());
  if (!create_graph_) [[likely]]
    return node.vjp(context);
  std::optional<AnomalyMode> pause;
  if (anomaly_mode()) pause.emplace(false);
  node.vjp(context);
}

void Walk::add(std::uint32_t at, Tensor gradient) {
  Tensor& slot = slots_[at];
  if (!slot.defined()) {
    slot = std::move(gradient);
  } else if (!create_graph_ && slot.owns_storage_alone() && slot.is_contiguous()) {
    accumulate_into(slot, gradient);
  } else {
    slot = accumulate(slot, gradient);
  }
}

}  // namespace heed::detail
