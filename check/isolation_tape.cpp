#include <algorithm>
#include <unordered_set>

#include <heed/check/function.h>
#include <heed/check/isolation_tape.h>
#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/random.h>
#include <heed/core/scope.h>

namespace heed::check {
namespace {

using Tensors = std::vector<Tensor>;

Tensors tensors_of(const std::vector<IsolationSource>& sources) {
  Tensors tensors;
  for (const IsolationSource& source : sources) tensors.push_back(source.tensor);
  return tensors;
}

// J v of every result, v random on the forbidden places; undefined where nothing arrives. The vector-Jacobian product
// Σ J_rᵀ u_r of all results r is linear in each u_r, and its derivative by u_r along v is J_r v: two walks for the whole
// tape.
Tensors derivatives_of(const Tensors& results, const IsolationProbe& probe, const Places& forbidden) {
  Generator generator(1);
  Tensors u;
  for (const Tensor& r : results) u.push_back(randn(r.shape(), generator, r.dtype()).set_requires_grad());
  const GradMode mode(true);
  const Tensors products = grad(results, tensors_of(probe.sources()),
                                {.grad_outputs = u, .create_graph = true, .allow_unused = true});
  Tensors outputs;
  Tensors directions;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (!products[i].requires_grad()) continue;
    const IsolationSource& source = probe.sources()[i];
    Tensor v = probe.noise_on(forbidden, source.shape, source.tensor.dtype());
    if (v.shape() != products[i].shape()) v = view_of(v, contiguous_view(products[i].shape()));
    outputs.push_back(products[i]);
    directions.push_back(std::move(v));
  }
  return grad(outputs, u, {.grad_outputs = directions, .allow_unused = true});
}

// Row-major indices of the elements that take part in the leak.
std::vector<std::int64_t> leaking_elements(const Tensor& derivative, const Tensor& cotangent) {
  std::vector<std::int64_t> elements;
  if (!derivative.defined() || !cotangent.defined()) return elements;
  const std::vector<double> in = numbers_of(derivative);
  const std::vector<double> out = numbers_of(cotangent);
  for (std::size_t e = 0; e < in.size(); ++e) {
    if (in[e] != 0 && out[e] != 0) elements.push_back(static_cast<std::int64_t>(e));
  }
  return elements;
}

// Which indices of an axis are those where the leak starts, in the sample or among its positions; empty if the axis does
// not count them. An axis may hold all places, or a few positions more, such as extra keys.
std::vector<bool> indices_at_home(const Shape& shape, int axis, const SequenceGrid& grid,
                                  const Places& forbidden, std::int64_t sample, bool across_samples) {
  const std::int64_t size = shape[axis];
  const bool holds_samples = size == grid.samples || (axis == 0 && size % grid.samples == 0);
  if (across_samples ? !holds_samples : size < grid.positions) return {};
  std::vector<bool> home(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t position = size % grid.positions == 0 ? i % grid.positions : i;
    home[static_cast<std::size_t>(i)] =
        across_samples ? i / (size / grid.samples) == sample
                       : position < grid.positions &&
                             forbidden[static_cast<std::size_t>(sample * grid.positions + position)];
  }
  return home;
}

}  // namespace

std::vector<Tensor> results_on_tape(const Tensor& y) {
  std::vector<Ref<Node>> nodes{y.impl()->node};
  std::unordered_set<const Node*> seen{nodes[0].get()};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Ref<Node> node = nodes[i];
    for (const Edge& edge : node->edges()) {
      const bool is_result = edge.node && !edge.node->is_leaf();
      if (is_result && seen.insert(edge.node.get()).second) nodes.push_back(edge.node);
    }
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Ref<Node>& a, const Ref<Node>& b) { return a->order() < b->order(); });
  Tensors results;
  for (const Ref<Node>& node : nodes) {
    for (std::uint32_t i = 0; i < node->outputs().size(); ++i) {
      const OutputMeta& meta = node->outputs()[i];
      Tensor handle = empty(meta.shape, meta.dtype);
      handle.impl()->node = node;
      handle.impl()->output = i;
      results.push_back(std::move(handle));
    }
  }
  return results;
}

CarryingOp find_carrying_op(const IsolationProbe& probe, const IsolationQuestion& question,
                            SequencePlace from, SequencePlace to) {
  const Tensor& y = probe.recorded();
  if (!y.requires_grad() || y.is_leaf() || probe.sources().empty()) return {};
  const SequenceGrid& grid = probe.grid();
  const bool across_samples = from.sample != to.sample;
  Places forbidden = question.forbidden;
  Places target(forbidden.size(), false);
  target[static_cast<std::size_t>(to.sample * grid.positions + to.position)] = true;
  for (std::size_t i = 0; i < forbidden.size(); ++i) {
    if (grid.place(static_cast<std::int64_t>(i)).sample != from.sample) forbidden[i] = false;
  }
  const Tensors results = results_on_tape(y);
  const Tensors cotangents = grad(std::span(&y, 1), results,
                                  {.grad_outputs = {probe.noise_on(target, y.shape(), y.dtype())},
                                   .retain_graph = true,
                                   .allow_unused = true});
  Tensors derivatives;
  try {
    derivatives = derivatives_of(results, probe, forbidden);
  } catch (const GradError&) {
    return {};
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::vector<std::int64_t> elements = leaking_elements(derivatives[r], cotangents[r]);
    const Shape& shape = results[r].shape();
    bool at_home = elements.empty();
    for (int axis = 0; axis < shape.rank() && !at_home; ++axis) {
      const auto home = indices_at_home(shape, axis, grid, forbidden, from.sample, across_samples);
      at_home = !home.empty() && std::all_of(elements.begin(), elements.end(), [&](std::int64_t e) {
        return home[static_cast<std::size_t>(position_of(shape, e)[axis])];
      });
    }
    if (at_home) continue;
    const Node& node = *results[r].impl()->node;
    return {node.op(), node.scope() == nullptr ? "" : node.scope()->path()};
  }
  return {};
}

}  // namespace heed::check
