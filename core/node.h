#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <heed/core/hooks.h>
#include <heed/core/pool.h>
#include <heed/core/ref.h>
#include <heed/core/scope.h>
#include <heed/core/tensor.h>

namespace heed {

class VjpContext;

/// Where one input of an operation came from. No node: that input needs no gradient.
struct Edge {
  Ref<Node> node;
  std::uint32_t output = 0;
};

/// Shape and dtype of an output, kept to make zeros and to validate cotangents after the tensor itself is
/// gone from memory.
struct OutputMeta {
  Shape shape;
  DType dtype = DType::f32;
};

/// One entry of the tape. Its order number is larger than that of every producer of its
/// inputs, across threads too.
class Node : public RefCounted, public Pooled {
 public:
  Node(const char* op, std::uint64_t order);
  virtual ~Node();
  /// Deletes through a thread-local list, so that dropping a graph of any depth takes constant stack.
  static void destroy(Node* node) noexcept;

  const char* op() const { return op_; }
  /// Module path in which the operation ran; null outside of modules.
  const ScopeName* scope() const { return scope_; }
  std::uint64_t order() const { return order_; }
  std::span<const Edge> edges() const { return {edge_data(), edge_count_}; }
  std::span<const OutputMeta> outputs() const { return {output_data(), output_count_}; }
  bool released() const { return released_ != 0; }
  std::int64_t saved_bytes() const { return saved_bytes_; }
  /// Hooks of its outputs; null where none was ever registered.
  const detail::HookList* hooks() const { return hooks_.load(std::memory_order_acquire); }
  /// The list to register a hook in, made at the first call.
  Ref<detail::HookList> hook_list();

  virtual bool is_leaf() const { return false; }
  /// Vector-Jacobian product: reads cotangents of the outputs, sets those of the inputs.
  virtual void vjp(VjpContext& context) = 0;
  /// Drops what was saved for `vjp`.
  void release();

  // Filled once, by `record`.
  void add_edge(Edge edge);
  void add_output(OutputMeta meta);
  void set_saved_bytes(std::int64_t bytes);
  /// Number of the TapeLedger that counts this node, 0 for none.
  void set_ledger(std::uint32_t ledger) { ledger_ = ledger; }

 protected:
  virtual void release_saved() = 0;

 private:
  // All edges, or all outputs, of an operation that has more of them than fit into the node itself.
  struct More {
    std::vector<Edge> edges;
    std::vector<OutputMeta> outputs;
  };
  More& more();
  const Edge* edge_data() const { return edge_count_ > inline_edges ? more_->edges.data() : edges_.data(); }
  const OutputMeta* output_data() const { return output_count_ > 1 ? more_->outputs.data() : &output_; }

  static constexpr std::uint32_t inline_edges = 2;
  std::uint32_t ledger_ = 0;
  const char* op_;
  const ScopeName* scope_;
  union {
    std::uint64_t order_;
    Node* next_dead_;  ///< the next one to delete, once nobody holds this node
  };
  std::int64_t saved_bytes_ = 0;
  std::uint32_t output_count_ = 0;
  std::uint32_t edge_count_ : 31 = 0;
  std::uint32_t released_ : 1 = 0;
  std::atomic<detail::HookList*> hooks_{nullptr};
  std::array<Edge, inline_edges> edges_;
  std::unique_ptr<More> more_;
  OutputMeta output_;
};

/// The node of a leaf: holds the accumulated gradient, and no pointer back to the tensor.
class LeafNode final : public Node {
 public:
  LeafNode(const Shape& shape, DType dtype);
  bool is_leaf() const override { return true; }
  void vjp(VjpContext& context) override;
  /// Adds a gradient without history. Safe from several threads.
  void accumulate(Tensor gradient);
  Tensor grad() const;
  void set_grad(Tensor gradient);
  /// Calls the hooks that wait for `.grad`.
  void run_stored_hooks() const;

 private:
  void release_saved() override {}
  mutable std::mutex mutex_;
  Tensor grad_;
};

/// Counts of the tape, for reports and leak tests.
struct TapeStats {
  std::int64_t live_nodes = 0;
  /// What live nodes keep for their vjp; a buffer that several nodes keep counts once for each.
  std::int64_t saved_bytes = 0;
};
TapeStats tape_stats();

}  // namespace heed
