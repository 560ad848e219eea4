#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/isolation_tape.h>
#include <heed/core/backward.h>
#include <heed/core/scope.h>

namespace heed::check {
namespace {

std::string scope_of(const Node& node) { return node.scope() == nullptr ? "" : node.scope()->path(); }

// What is known about the elements of each result on the tape.
class CarrierSearch {
 public:
  CarrierSearch(const IsolationProbe& probe, const IsolationQuestion& question, const IsolationLeak& leak)
      : probe_(probe), trace_(probe.trace()), leak_(leak), mutual_(question.mutual) {
    const auto changes = [&](Plant plant, std::uint64_t number, const Places& places) {
      return changes_by(probe.model(), probe.moved(plant, number, places), trace_);
    };
    const Plant own = leak.plant == Plant::nan ? Plant::other : leak.plant;
    hears_from_ = changes(leak.plant, question.number, probe.grid().only(leak.from));
    hears_to_ = changes(own, question.number, probe.grid().only(leak.to));
    Places forbidden = question.forbidden;
    for (std::size_t p = 0; p < forbidden.size(); ++p) {
      const bool same_sample = probe.grid().place(static_cast<std::int64_t>(p)).sample == leak.from.sample;
      forbidden[p] = forbidden[p] && same_sample;
    }
    hears_forbidden_ = changes(leak.plant, question.number, forbidden);
    // A maximum or a comparison changes only for some values, so several are tried.
    for (int again = 1; leak.plant != Plant::nan && again <= more_replacements; ++again) {
      const Plant plant = again % 2 == 0 ? leak.plant : Plant::large;
      join(hears_forbidden_, changes(plant, question.number + static_cast<std::uint64_t>(again), forbidden));
    }
    read_by_to();
  }

  CarryingOp find() {
    const std::vector<bool> follows = follow_sources();
    join_siblings();
    const bool own_token_is_heard =
        leaf_is_clean_ || std::find(clean_.begin(), clean_.end(), true) != clean_.end();
    for (const bool from_alone : {true, false}) {
      const auto& hears = from_alone ? hears_from_ : hears_forbidden_;
      for (std::size_t r = 0; r < trace_.results.size(); ++r) {
        const std::vector<std::int64_t> elements = leaking_elements(hears[r], r);
        if (elements.empty() || !follows[r]) continue;
        const bool at_home = own_token_is_heard ? clean_[r] && !mixes(elements, r)
                                                : is_at_home(trace_.results[r].value.shape(), elements);
        if (!at_home) return {trace_.results[r].node->op(), scope_of(*trace_.results[r].node)};
      }
    }
    return {};
  }

 private:
  // The sources and what is computed from them. What comes before a source, such as vectors of sorted tokens,
  // has no rows of one token yet.
  std::vector<bool> follow_sources() const {
    const auto is_source = [&](const Node* node, std::uint32_t output) {
      return std::any_of(probe_.sources().begin(), probe_.sources().end(), [&](const IsolationSource& s) {
        return s.tensor.impl()->node.get() == node && s.tensor.impl()->output == output;
      });
    };
    std::vector<bool> follows;
    for (const TracedResult& result : trace_.results) {
      const auto edges = result.node->edges();
      const bool reads_one = std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
        const std::int64_t operand = trace_.number_of(edge);
        const bool follows_one = operand >= 0 && follows[static_cast<std::size_t>(operand)];
        return follows_one || is_source(edge.node.get(), edge.output);
      });
      follows.push_back(reads_one || probe_.sources().empty() || is_source(result.node.get(), result.output));
    }
    return follows;
  }

  static constexpr int more_replacements = 11;

  static void join(std::vector<TracedChange>& changes, const std::vector<TracedChange>& more) {
    for (std::size_t r = 0; r < changes.size(); ++r) {
      if (!changes[r].comparable || !more[r].comparable) continue;
      for (std::size_t e = 0; e < more[r].elements.size(); ++e) {
        if (more[r].elements[e]) changes[r].elements[e] = true;
      }
    }
  }

  // Where neither side may depend on the other, no element may depend on both.
  bool mixes(const std::vector<std::int64_t>& elements, std::size_t r) const {
    return mutual_ && hears_to_[r].comparable &&
           std::any_of(elements.begin(), elements.end(),
                       [&](std::int64_t e) { return hears_to_[r].elements[static_cast<std::size_t>(e)]; });
  }

  // Finds the elements that y at `to` depends on, and the results with a clean element.
  void read_by_to() {
    const Places to = probe_.grid().only(leak_.to);
    Places others = to;
    others.flip();
    const auto gradients = derivatives_of(to);
    const auto by_others = derivatives_of(others);
    for (std::size_t r = 0; r < trace_.results.size(); ++r) {
      read_.push_back(nonzero(gradients[r]));
      clean_.push_back(has_clean_element(r, above_rounding(by_others[r])));
    }
    if (trace_.leaf.requires_grad()) leaf_is_clean_ = leaf_reads(gradients.back());
  }

  // Derivatives of y at some places by each result, and by the leaf if there is one.
  std::vector<Tensor> derivatives_of(const Places& places) const {
    std::vector<Tensor> inputs;
    for (const TracedResult& result : trace_.results) inputs.push_back(result.handle());
    if (trace_.leaf.requires_grad()) inputs.push_back(trace_.leaf);
    return grad(std::span(&trace_.y, 1), inputs,
                {.grad_outputs = {probe_.noise_on(places)}, .retain_graph = true, .allow_unused = true});
  }

  static std::vector<bool> nonzero(const Tensor& gradient) {
    std::vector<bool> flags;
    if (!gradient.defined()) return flags;
    for (const double v : numbers_of(gradient)) flags.push_back(v != 0);
    return flags;
  }

  // Whether each element is larger than a rounding error relative to the largest element.
  static std::vector<bool> above_rounding(const Tensor& gradient) {
    std::vector<bool> flags;
    if (!gradient.defined()) return flags;
    const std::vector<double> values = numbers_of(gradient);
    double largest = 0;
    for (const double v : values) largest = std::max(largest, std::abs(v));
    for (const double v : values)
      flags.push_back(!(std::abs(v) <= 64 * epsilon_of(gradient.dtype()) * largest));
    return flags;
  }

  // Whether y at `to` depends on x at that place.
  bool leaf_reads(const Tensor& gradient) const {
    if (!gradient.defined()) return false;
    const Places own = probe_.grid().only(leak_.to);
    const std::vector<bool> moved = differing(trace_.leaf.detach(), probe_.moved(Plant::other, 0, own));
    const std::vector<bool> read = nonzero(gradient);
    for (std::size_t e = 0; e < read.size(); ++e) {
      if (read[e] && moved[e]) return true;
    }
    return false;
  }

  // Whether a result has a clean element: it depends on x at `to` and on nothing forbidden, and y at `to`,
  // or nothing, depends on it.
  bool has_clean_element(std::size_t r, const std::vector<bool>& by_others) const {
    const TracedChange& own = hears_to_[r];
    const TracedChange& forbidden = hears_forbidden_[r];
    if (!own.comparable || !forbidden.comparable) return false;
    for (std::size_t e = 0; e < own.elements.size(); ++e) {
      const bool is_read = !read_[r].empty() && read_[r][e];
      const bool belongs_to_others = !is_read && !by_others.empty() && by_others[e];
      if (own.elements[e] && !forbidden.elements[e] && !belongs_to_others) return true;
    }
    return false;
  }

  // In a loop over positions each result is one of many rows, which are considered together.
  void join_siblings() {
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> families;
    for (std::size_t r = 0; r < trace_.results.size(); ++r) {
      const TracedResult& result = trace_.results[r];
      families[{result.node->op(), scope_of(*result.node), result.value.shape().str()}].push_back(r);
    }
    for (const auto& [key, family] : families) {
      if (static_cast<std::int64_t>(family.size()) < probe_.grid().positions - 1) continue;
      const bool one_is_clean =
          std::any_of(family.begin(), family.end(), [&](std::size_t r) { return clean_[r]; });
      for (const std::size_t r : family) clean_[r] = one_is_clean;
    }
  }

  std::vector<std::int64_t> leaking_elements(const TracedChange& hears, std::size_t r) const {
    std::vector<std::int64_t> elements;
    if (!hears.comparable) return elements;
    for (std::size_t e = 0; e < read_[r].size(); ++e) {
      if (read_[r][e] && hears.elements[e]) elements.push_back(static_cast<std::int64_t>(e));
    }
    return elements;
  }

  // Whether along some axis all elements are where the leak starts: at its position or in its sample.
  bool is_at_home(const Shape& shape, const std::vector<std::int64_t>& elements) const {
    const SequenceGrid& grid = probe_.grid();
    const bool across_samples = leak_.from.sample != leak_.to.sample;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t size = shape[axis];
      const bool counts = across_samples ? size % grid.samples == 0 : size >= grid.positions;
      if (!counts || size == 0) continue;
      const auto is_there = [&](std::int64_t element) {
        const std::int64_t index = position_of(shape, element)[axis];
        if (across_samples) return index / (size / grid.samples) == leak_.from.sample;
        return (size % grid.positions == 0 ? index % grid.positions : index) == leak_.from.position;
      };
      if (std::all_of(elements.begin(), elements.end(), is_there)) return true;
    }
    return false;
  }

  const IsolationProbe& probe_;
  const Trace& trace_;
  IsolationLeak leak_;
  bool mutual_;
  std::vector<TracedChange> hears_from_;
  std::vector<TracedChange> hears_forbidden_;
  std::vector<TracedChange> hears_to_;
  std::vector<std::vector<bool>> read_;  // empty where y at `to` does not depend on the result
  std::vector<bool> clean_;              // whether the result has a clean element
  bool leaf_is_clean_ = false;
};

}  // namespace

CarryingOp find_carrying_op(const IsolationProbe& probe, const IsolationQuestion& question,
                            const IsolationLeak& leak) {
  const Tensor& y = probe.trace().y;
  if (!y.requires_grad() || y.is_leaf()) return {};
  return CarrierSearch(probe, question, leak).find();
}

}  // namespace heed::check
