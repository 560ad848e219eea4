#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/node_index.h>
#include <heed/core/vjp_context.h>

namespace heed {

const Tensor& VjpContext::cotangent(int output) {
  Tensor& cotangent = cotangents_[static_cast<std::size_t>(output)];
  if (!cotangent.defined()) {
    const OutputMeta& meta = node_.outputs()[static_cast<std::size_t>(output)];
    cotangent = zeros(meta.shape, meta.dtype);
  }
  return cotangent;
}

Tensor VjpContext::take_cotangent(int output) {
  cotangent(output);
  return std::exchange(cotangents_[static_cast<std::size_t>(output)], Tensor());
}

void VjpContext::set(int input, Tensor gradient) {
  if (needs(input)) gradients_[static_cast<std::size_t>(input)] = std::move(gradient);
}

bool VjpContext::recording() const { return grad_enabled(); }

Tensor VjpContext::unpack(const SavedTensor& saved) const {
  if (!saved.defined()) return {};
  const std::uint32_t version = saved.tensor_.storage()->version();
  if (version != saved.version_) {
    fail<GradError>(node_.op(), "a saved tensor was overwritten before backward",
                    fmt::format("{} is {} at version {}", saved.name_, saved.tensor_.shape().str(), version),
                    fmt::format("version {}", saved.version_));
  }
  if (!saved.is_output_) return saved.tensor_;
  Tensor output = view_of(saved.tensor_, saved.tensor_.view());
  output.impl()->node = Ref<Node>(&node_);
  output.impl()->output = saved.output_;
  return output;
}

namespace {

constexpr std::uint32_t none = NodeIndex::none;

// One walk over the tape. The recursive idea:
//   propagate(node): wait for the cotangents of all consumers; add them up; node.vjp; propagate(each
//   producer)
// Every producer has a smaller order number than its consumers, so walking the reachable nodes in descending
// order meets each node exactly when its cotangents are complete, without recursion and without counting.
class Walk {
 public:
  explicit Walk(bool create_graph, bool retain_graph)
      : create_graph_(create_graph), retain_graph_(retain_graph) {}

  void add_root(const Tensor& output, Tensor cotangent) {
    TensorImpl* impl = output.impl();
    const std::uint32_t at = entry_of(impl->node.get());
    roots_.push_back(impl->node);
    root_cotangents_.push_back({at, impl->output, std::move(cotangent)});
  }

  // Finds every reachable node (breadth first; entries_ is its own queue) and the order to walk them in.
  void collect() {
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      const Node* node = entries_[i].node;
      entries_[i].first_edge = static_cast<std::uint32_t>(producers_.size());
      entries_[i].first_slot = slot_count_;
      slot_count_ += static_cast<std::uint32_t>(node->outputs().size());
      for (const Edge& edge : node->edges())
        producers_.push_back(edge.node ? entry_of(edge.node.get()) : none);
    }
    descending_.resize(entries_.size());
    std::iota(descending_.begin(), descending_.end(), 0u);
    const auto later = [&](std::uint32_t a, std::uint32_t b) {
      return entries_[a].node->order() > entries_[b].node->order();
    };
    if (!std::is_sorted(descending_.begin(), descending_.end(), later)) {
      std::stable_sort(descending_.begin(), descending_.end(), later);
    }
    slots_.resize(slot_count_);
  }

  void want_all_leaves() {
    for (Entry& entry : entries_) entry.wanted = entry.node->is_leaf();
  }

  // Asks for the cotangent of a tensor; none if the outputs do not depend on it.
  std::uint32_t want(const Tensor& x) {
    const std::uint32_t at = index_.find(x.impl()->node.get());
    if (at == none || x.impl()->output >= entries_[at].node->outputs().size()) return none;
    entries_[at].wanted = true;
    return entries_[at].first_slot + x.impl()->output;
  }

  // Ascending: an entry must run when one of its producers is wanted or must run itself.
  void mark() {
    for (auto it = descending_.rbegin(); it != descending_.rend(); ++it) {
      Entry& entry = entries_[*it];
      for (std::uint32_t k = 0; k < entry.node->edges().size(); ++k) {
        const std::uint32_t producer = producers_[entry.first_edge + k];
        entry.runs |= producer != none && (entries_[producer].wanted || entries_[producer].runs);
      }
    }
  }

  // Descending. `captures` maps wanted slots to places in `captured`.
  void run(const std::vector<std::uint32_t>* captures, std::vector<Tensor>* captured) {
    const GradMode mode(create_graph_);
    for (Root& root : root_cotangents_) {
      add(entries_[root.entry].first_slot + root.output, std::move(root.cotangent));
    }
    for (const std::uint32_t i : descending_) {
      Entry& entry = entries_[i];
      if (captures == nullptr && entry.node->is_leaf()) {
        finish_leaf(entry);
        continue;
      }
      if (captures != nullptr && entry.wanted) capture(entry, *captures, *captured);
      if (entry.runs && has_cotangent(entry)) run_node(entry);
      clear(entry);
    }
  }

 private:
  struct Entry {
    Node* node;
    std::uint32_t first_edge = 0;
    std::uint32_t first_slot = 0;
    bool wanted = false;
    bool runs = false;
  };
  struct Root {
    std::uint32_t entry;
    std::uint32_t output;
    Tensor cotangent;
  };

  std::uint32_t entry_of(Node* node) {
    const auto [at, added] = index_.insert(node, static_cast<std::uint32_t>(entries_.size()));
    if (added) entries_.push_back({node});
    return at;
  }

  std::span<Tensor> slots_of(const Entry& entry) {
    return {slots_.data() + entry.first_slot, entry.node->outputs().size()};
  }
  bool has_cotangent(const Entry& entry) {
    const auto slots = slots_of(entry);
    return std::any_of(slots.begin(), slots.end(), [](const Tensor& t) { return t.defined(); });
  }
  void clear(const Entry& entry) {
    for (Tensor& slot : slots_of(entry)) slot = Tensor();
  }

  void finish_leaf(const Entry& entry) {
    Tensor& slot = slots_[entry.first_slot];
    if (slot.defined()) static_cast<LeafNode*>(entry.node)->accumulate(std::move(slot));
    slot = Tensor();
  }

  void capture(const Entry& entry, const std::vector<std::uint32_t>& captures,
               std::vector<Tensor>& captured) {
    const auto end = entry.first_slot + entry.node->outputs().size();
    for (std::size_t k = 0; k < captures.size(); ++k) {
      if (captures[k] >= entry.first_slot && captures[k] < end) captured[k] = slots_[captures[k]];
    }
  }

  void run_node(const Entry& entry) {
    Node& node = *entry.node;
    if (node.released()) {
      fail<GradError>("backward", "the graph was freed by an earlier backward",
                      fmt::format("{} was already run", node.op()),
                      "retain_graph = true in the earlier call");
    }
    const std::size_t edges = node.edges().size();
    gradients_.assign(edges, Tensor());
    needed_.assign(edges, 0);
    for (std::size_t k = 0; k < edges; ++k) {
      const std::uint32_t producer = producers_[entry.first_edge + k];
      needed_[k] = producer != none && (entries_[producer].wanted || entries_[producer].runs);
    }
    VjpContext context(node, slots_of(entry), gradients_, needed_);
    node.vjp(context);
    clear(entry);
    if (!retain_graph_) node.release();
    for (std::size_t k = 0; k < edges; ++k) {
      if (!gradients_[k].defined()) continue;
      const Entry& producer = entries_[producers_[entry.first_edge + k]];
      const std::uint32_t output = node.edges()[k].output;
      validate(node, k, gradients_[k], producer.node->outputs()[output]);
      add(producer.first_slot + output, std::move(gradients_[k]));
    }
  }

  static void validate(const Node& node, std::size_t input, const Tensor& gradient, const OutputMeta& meta) {
    if (gradient.shape() == meta.shape && gradient.dtype() == meta.dtype) return;
    fail<GradError>(node.op(), fmt::format("wrong gradient for input {}", input), describe(gradient),
                    fmt::format("{}{}", name_of(meta.dtype), meta.shape.str()));
  }

  void add(std::uint32_t at, Tensor gradient) {
    Tensor& slot = slots_[at];
    if (!slot.defined()) {
      slot = std::move(gradient);
    } else if (!create_graph_ && slot.owns_storage_alone() && slot.is_contiguous()) {
      accumulate_into(slot, gradient);
    } else {
      slot = accumulate(slot, gradient);
    }
  }

  bool create_graph_;
  bool retain_graph_;
  NodeIndex index_;
  std::vector<Ref<Node>> roots_;
  std::vector<Root> root_cotangents_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> producers_;
  std::vector<std::uint32_t> descending_;
  std::vector<Tensor> slots_;
  std::uint32_t slot_count_ = 0;
  std::vector<Tensor> gradients_;
  std::vector<char> needed_;
};

Tensor root_cotangent(const char* op, const Tensor& output, const Tensor& given) {
  check_defined(op, "output", output);
  if (!output.requires_grad()) {
    fail<GradError>(op, "output has no history", describe(output), "a result of recorded operations");
  }
  if (given.defined()) {
    check_same_dtype(op, "output", output, "cotangent", given);
    check_same_shape(op, "output", output, "cotangent", given);
    return given;
  }
  if (output.numel() != 1) {
    fail<ShapeError>(op, "output has several elements and no cotangent",
                     fmt::format("it is {}", output.shape().str()),
                     "one element, or a cotangent of its shape");
  }
  return full(output.shape(), 1, output.dtype());
}

[[noreturn]] void fail_unused(std::size_t input) {
  fail<GradError>("grad", "the outputs do not depend on an input", fmt::format("input {}", input),
                  "a path to it (or allow_unused = true)");
}

}  // namespace

void backward(const Tensor& loss, const BackwardOptions& options) {
  Walk walk(false, options.retain_graph);
  walk.add_root(loss, root_cotangent("backward", loss, options.cotangent));
  walk.collect();
  walk.want_all_leaves();
  walk.mark();
  walk.run(nullptr, nullptr);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size()) {
    fail<ValueError>("grad", "wrong number of grad_outputs",
                     fmt::format("{} were given", options.grad_outputs.size()),
                     fmt::format("none or {}", outputs.size()));
  }
  Walk walk(options.create_graph, options.retain_graph || options.create_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    walk.add_root(outputs[i],
                  root_cotangent("grad", outputs[i],
                                 options.grad_outputs.empty() ? Tensor() : options.grad_outputs[i]));
  }
  walk.collect();
  std::vector<std::uint32_t> captures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_defined("grad", "input", inputs[i]);
    if (!inputs[i].requires_grad()) {
      fail<GradError>("grad", "an input does not require grad", fmt::format("input {}", i),
                      "inputs with history");
    }
    captures.push_back(walk.want(inputs[i]));
    if (captures.back() == none && !options.allow_unused) fail_unused(i);  // before anything is freed
  }
  walk.mark();
  std::vector<Tensor> captured(inputs.size());
  walk.run(&captures, &captured);
  for (std::size_t i = 0; i < captured.size(); ++i) {
    if (!captured[i].defined() && !options.allow_unused) fail_unused(i);
  }
  return captured;
}

Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options) {
  return grad(std::span(&output, 1), std::span(&input, 1), options)[0];
}

}  // namespace heed
