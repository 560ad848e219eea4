#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/pad.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>

#include "tables.h"

namespace heed::conformance {
namespace {

Shape shape_from(const nlohmann::json& list) {
  return Shape(std::span<const std::int64_t>(list.get<std::vector<std::int64_t>>()));
}

/// One step such as ["slice", axis, start, stop, step].
Tensor walk(const Tensor& x, const nlohmann::json& step) {
  const std::string name = step.at(0);
  const auto number = [&](std::size_t i) { return step.at(i).get<std::int64_t>(); };
  if (name == "permute") return permute(x, shape_from(step.at(1)));
  if (name == "slice") return slice(x, number(1), number(2), number(3), number(4));
  if (name == "select") return select(x, number(1), number(2));
  if (name == "reshape") return reshape(x, shape_from(step.at(1)));
  if (name == "expand") return expand(x, shape_from(step.at(1)));
  if (name == "unsqueeze") return unsqueeze(x, number(1));
  if (name == "squeeze") return squeeze(x, number(1));
  if (name == "flip") return flip(x, shape_from(step.at(1)));
  if (name == "square") return square(x);
  throw Skip("view_walk: step '" + name + "' is not known");
}

Tensors view_walk(const Call& call) {
  Tensor x = call.at(0);
  for (const nlohmann::json& step : call.attributes.json("steps")) x = walk(x, step);
  return {x};
}

/// A number: pieces of that size, the last one shorter; a list: the size of
/// each.
Tensors split_sizes(const Call& call) {
  const std::int64_t axis = call.attributes.integer("dim", 0);
  if (!call.attributes.json("size").is_array())
    return split(call.at(0), call.attributes.integer("size"), axis);
  return split(call.at(0), call.attributes.integers("size"), axis);
}

/// Pairs (before, after) from the last axis on; a negative number cuts.
Tensors pad_pairs(const Call& call) {
  if (call.attributes.text("mode", "constant") != "constant") throw Skip("pad: only mode constant is known");
  Tensor x = call.at(0);
  const Integers pairs = call.attributes.integers("pad");
  Shape before = Shape::filled(x.rank(), 0);
  Shape after = before;
  for (std::size_t i = 0; 2 * i + 1 < pairs.size(); ++i) {
    const int axis = x.rank() - 1 - static_cast<int>(i);
    before[axis] = std::max<std::int64_t>(pairs[2 * i], 0);
    after[axis] = std::max<std::int64_t>(pairs[2 * i + 1], 0);
    const std::int64_t cut_before = before[axis] - pairs[2 * i];
    const std::int64_t cut_after = after[axis] - pairs[2 * i + 1];
    if (cut_before + cut_after > 0) x = narrow(x, axis, cut_before, x.size(axis) - cut_before - cut_after);
  }
  return {pad(x, before, after, Scalar(call.attributes.real("value", 0)))};
}

/// Without axes the elements move in row-major order.
Tensors roll_axes(const Call& call) {
  const std::string name = call.attributes.has("shifts") ? "shifts" : "shift";
  const std::string axes = call.attributes.has("dims") ? "dims" : "dim";
  const Tensor x = call.at(0);
  const Shape shifts = call.attributes.integers(name);
  if (!call.attributes.has(axes)) return {reshape(roll(flatten(x), shifts, {0}), x.shape())};
  return {roll(x, shifts, call.attributes.integers(axes))};
}

/// Like PyTorch's repeat, which puts axes of size 1 in front where there are
/// more counts than axes.
Tensors repeat_all(const Call& call) {
  Tensor x = call.at(0);
  const Shape counts = call.attributes.integers("times");
  while (x.rank() < counts.rank()) x = unsqueeze(x, 0);
  return {repeat(x, counts)};
}

}  // namespace

void add_torch_shapes(Table& table) {
  table["view_walk"] = view_walk;
  table["cat"] = [](const Call& call) -> Tensors {
    return {concat(std::span<const Tensor>(call.inputs), call.attributes.integer("dim", 0))};
  };
  table["stack"] = [](const Call& call) -> Tensors {
    return {stack(std::span<const Tensor>(call.inputs), call.attributes.integer("dim", 0))};
  };
  table["split"] = split_sizes;
  table["pad"] = pad_pairs;
  table["roll"] = roll_axes;
  table["repeat"] = repeat_all;
  table["tril"] = [](const Call& call) -> Tensors {
    return {tril(call.at(0), call.attributes.integer("diagonal", 0))};
  };
  table["triu"] = [](const Call& call) -> Tensors {
    return {triu(call.at(0), call.attributes.integer("diagonal", 0))};
  };
}

}  // namespace heed::conformance
