#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <heed/core/node.h>
#include <heed/core/node_index.h>
#include <heed/core/tensor.h>

namespace heed::detail {

/// One walk over the tape, for `backward`, `grad` and operations that differentiate a function in their own
/// vjp. The recursive idea:
///   propagate(node):  wait for the cotangents of all consumers; add them up; node.vjp;
///                     propagate(each producer)
/// Every producer has a smaller order number than its consumers, so walking the reachable nodes in descending
/// order meets each node exactly when its cotangents are complete, without recursion. Leaves do not wait for
/// their turn: each is finished when its last consumer has run.
class Walk {
 public:
  Walk(bool create_graph, bool retain_graph);

  void add_root(const Tensor& output, Tensor cotangent);
  /// The walk ends at this tensor's node: neither its rule nor its hooks run. Before `collect`.
  void stop_at(const Tensor& x);
  /// Finds every reachable node and the order to walk them in.
  void collect();

  void want_all_leaves();
  /// Asks for the cotangent of a tensor: its slot, or NodeIndex::none if the outputs do not depend on it.
  std::uint32_t want(const Tensor& x);
  /// Marks what must run for what is wanted. GradError, before anything has run, where a part
  /// of it was freed.
  void mark();

  /// Adds to `.grad` of the leaves.
  void run_backward();
  /// The cotangents in the slots that `want` gave; undefined where nothing arrived.
  std::vector<Tensor> run_grad(std::span<const std::uint32_t> slots);

 private:
  // A copy of what the walk reads of a node more than once: in a large graph the node itself has left the
  // processor's caches by then.
  struct Entry {
    Node* node;
    std::uint32_t first_edge = 0;
    std::uint32_t edges = 0;
    std::uint32_t first_slot = 0;
    std::uint32_t slots = 0;
    std::uint32_t consumers = 0;  ///< of a leaf: edges from entries that run and have not been met yet
    bool leaf = false;
    bool released = false;
    bool wanted = false;
    bool runs = false;
    bool boundary = false;
  };
  struct Root {
    std::uint32_t entry;
    std::uint32_t output;
    Tensor cotangent;
  };

  std::uint32_t entry_of(Node* node);
  std::span<Tensor> slots_of(const Entry& entry);
  bool has_cotangent(const Entry& entry);
  void clear(const Entry& entry);
  void run();
  void prepare(const Entry& entry);
  void finish(const Entry& entry);
  void finish_leaves(const Entry& consumer);
  void run_node(const Entry& entry);
  void call_vjp(Node& node, VjpContext& context);
  void add(std::uint32_t at, Tensor gradient);

  const bool create_graph_;
  const bool retain_graph_;
  bool store_ = false;  ///< backward: leaves accumulate; otherwise wanted slots are captured
  NodeIndex index_;
  std::vector<Ref<Node>> roots_;
  std::vector<Root> root_cotangents_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> producers_;
  std::vector<std::uint32_t> descending_;
  std::vector<Tensor> slots_;
  std::span<const std::uint32_t> wanted_slots_;
  std::vector<Tensor> captured_;
  std::vector<Tensor> gradients_;
  std::vector<char> needed_;
};

}  // namespace heed::detail
