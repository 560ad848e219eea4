#include <atomic>
#include <memory>
#include <utility>

#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/tape_ledger.h>

namespace heed {
namespace {

std::atomic<std::int64_t> live_nodes{0};
std::atomic<std::int64_t> saved_total{0};

// The dead list of this thread. Trivially destructible: tensors may die while the thread is being torn down.
thread_local Node* dead = nullptr;
thread_local bool draining = false;

}  // namespace

TapeStats tape_stats() {
  return {live_nodes.load(std::memory_order_relaxed), saved_total.load(std::memory_order_relaxed)};
}

Node::Node(const char* op, std::uint64_t order) : op_(op), scope_(current_scope()), order_(order) {
  live_nodes.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() {
  live_nodes.fetch_sub(1, std::memory_order_relaxed);
  set_saved_bytes(0);
  if (detail::HookList* hooks = hooks_.load(std::memory_order_acquire)) {
    hooks->clear();  // handles may live on
    if (hooks->drop()) detail::HookList::destroy(hooks);
  }
}

Ref<detail::HookList> Node::hook_list() {
  detail::HookList* hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) {
    auto made = std::make_unique<detail::HookList>();
    made->retain();
    if (hooks_.compare_exchange_strong(hooks, made.get(), std::memory_order_acq_rel)) hooks = made.release();
  }
  return Ref<detail::HookList>(hooks);
}

// Recursive form: delete node → drop its saved tensors and edges → delete their nodes → … A graph is as deep
// as its longest chain, so instead every node whose count reaches zero is queued, and the outermost call
// empties the queue.
void Node::destroy(Node* node) noexcept {
  node->next_dead_ = dead;
  dead = node;
  if (draining) return;
  draining = true;
  while (dead != nullptr) {
    Node* next = dead;
    dead = next->next_dead_;
    if (next->ledger_ != 0) [[unlikely]]
      TapeLedger::remove(next->ledger_, *next);
    delete next;
  }
  draining = false;
}

void Node::release() {
  released_ = 1;
  if (ledger_ != 0) [[unlikely]]
    TapeLedger::remove(std::exchange(ledger_, 0), *this);
  release_saved();
  set_saved_bytes(0);
}

Node::More& Node::more() {
  if (!more_) more_ = std::make_unique<More>();
  return *more_;
}

void Node::add_edge(Edge edge) {
  if (edge_count_ < inline_edges) {
    edges_[edge_count_] = std::move(edge);
  } else {
    if (edge_count_ == inline_edges) {
      for (Edge& e : edges_) more().edges.push_back(std::move(e));
    }
    more().edges.push_back(std::move(edge));
  }
  ++edge_count_;
}

void Node::add_output(OutputMeta meta) {
  if (output_count_ == 0) {
    output_ = std::move(meta);
  } else {
    if (output_count_ == 1) more().outputs.push_back(output_);
    more().outputs.push_back(std::move(meta));
  }
  ++output_count_;
}

void Node::set_saved_bytes(std::int64_t bytes) {
  if (bytes == saved_bytes_) return;
  saved_total.fetch_add(bytes - saved_bytes_, std::memory_order_relaxed);
  saved_bytes_ = bytes;
}

LeafNode::LeafNode(const Shape& shape, DType dtype) : Node("leaf", 0) { add_output({shape, dtype}); }

void LeafNode::vjp(VjpContext&) {}

void LeafNode::accumulate(Tensor gradient) {
  const std::lock_guard lock(mutex_);
  const NoGrad guard;
  if (grad_.defined()) {
    if (has_broadcast_axis(grad_.view())) grad_ = copy_of(grad_);
    accumulate_into(grad_, gradient);
  } else if (gradient.owns_storage_alone() && gradient.is_contiguous() && !gradient.requires_grad()) {
    grad_ = std::move(gradient);
  } else {
    grad_ = copy_of(gradient);
  }
}

void LeafNode::run_stored_hooks() const {
  const detail::HookList* list = hooks();
  if (list == nullptr) return;
  if (Tensor stored = grad(); stored.defined()) list->run(*this, detail::HookList::stored, std::move(stored));
}

Tensor LeafNode::grad() const {
  const std::lock_guard lock(mutex_);
  return grad_;
}

void LeafNode::set_grad(Tensor gradient) {
  const std::lock_guard lock(mutex_);
  grad_ = std::move(gradient);
}

}  // namespace heed
