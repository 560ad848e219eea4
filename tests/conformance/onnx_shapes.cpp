#include <algorithm>
#include <cmath>

#include <heed/core/factory.h>
#include <heed/ops/cast.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/pad.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

/// A 0 copies the size of the input, unless allowzero; −1 is what is left.
Tensors reshape_to(const Call& call) {
  const Tensor x = call.at(0);
  Shape shape = call.at(1).defined() ? list_of(call.at(1)) : call.attributes.integers("shape");
  const bool allow_zero = call.attributes.flag("allowzero");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0 && !allow_zero) shape[axis] = x.size(axis);
  }
  return {reshape(x, shape)};
}

/// Two axes: those before `axis`, and those from it on.
Tensors flatten_at(const Call& call) {
  const Tensor x = call.at(0);
  std::int64_t axis = call.attributes.integer("axis", 1);
  if (axis < 0) axis += x.rank();
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? rows : columns) *= x.size(i);
  return {reshape(x, {rows, columns})};
}

Tensors transpose_axes(const Call& call) {
  const Tensor x = call.at(0);
  if (call.attributes.has("perm")) return {permute(x, call.attributes.integers("perm"))};
  Shape reversed;
  for (int axis = x.rank() - 1; axis >= 0; --axis) reversed.push_back(axis);
  return {permute(x, reversed)};
}

Tensors squeeze_axes(const Call& call) {
  Tensor x = call.at(0);
  const std::optional<Shape> given = axes_given(call, 1);
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!given && x.size(axis) == 1) axes.push_back(axis);
  }
  for (const std::int64_t axis : given.value_or(Shape()))
    axes.push_back(normalize_axis(call.op, axis, x.rank()));
  std::sort(axes.rbegin(), axes.rend());
  for (const int axis : axes) x = squeeze(x, axis);
  return {x};
}

/// Axes are those of the result, in any order.
Tensors unsqueeze_axes(const Call& call) {
  Tensor x = call.at(0);
  const Shape given = axes_given(call, 1).value_or(Shape());
  const int rank = x.rank() + given.rank();
  std::vector<int> axes;
  for (const std::int64_t axis : given) axes.push_back(normalize_axis(call.op, axis, rank));
  std::sort(axes.begin(), axes.end());
  for (const int axis : axes) x = unsqueeze(x, axis);
  return {x};
}

/// Both sides may broadcast: the result has NumPy's shape of the two.
Tensors expand_to(const Call& call) {
  return {expand(call.at(0), broadcast_shapes(call.op, call.at(0).shape(), list_of(call.at(1))))};
}

Tensors tile(const Call& call) { return {repeat(call.at(0), list_of(call.at(1)))}; }

Tensors slice_axes(const Call& call) {
  Tensor x = call.at(0);
  const bool by_input = call.at(1).defined();
  const Shape starts = by_input ? list_of(call.at(1)) : call.attributes.integers("starts");
  const Shape ends = by_input ? list_of(call.at(2)) : call.attributes.integers("ends");
  const std::optional<Shape> axes = axes_given(call, 3);
  const Shape steps = call.at(4).defined() ? list_of(call.at(4)) : Shape::filled(starts.rank(), 1);
  for (int i = 0; i < starts.rank(); ++i) x = slice(x, axes ? (*axes)[i] : i, starts[i], ends[i], steps[i]);
  return {x};
}

/// Sizes are an input or an attribute; else the axis is cut into equal pieces,
/// the last one shorter.
Tensors split_axis(const Call& call) {
  const Tensor x = call.at(0);
  const std::int64_t axis = call.attributes.integer("axis", 0);
  const auto pieces = call.attributes.integer("num_outputs", static_cast<std::int64_t>(call.outputs.size()));
  if (call.at(1).defined() || call.attributes.has("split")) {
    const Integers sizes = call.at(1).defined() ? list_of(call.at(1)) : call.attributes.integers("split");
    return split(x, sizes, axis);
  }
  const std::int64_t length = x.size(static_cast<int>(axis));
  const std::int64_t size = (length + pieces - 1) / pieces;
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < pieces; ++i)
    sizes.push_back(std::clamp<std::int64_t>(length - i * size, 0, size));
  return split(x, sizes, axis);
}

Tensors shape_between(const Call& call) {
  const Shape& shape = call.at(0).shape();
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const Tensor all = from_span(std::span<const std::int64_t>(sizes), {shape.rank()});
  return {slice(all, 0, call.attributes.integer("start", 0), call.attributes.optional_integer("end"))};
}

Tensors triangle(const Call& call) {
  const std::int64_t k = call.at(1).defined() ? list_of(call.at(1))[0] : 0;
  return {call.attributes.flag("upper", true) ? triu(call.at(0), k) : tril(call.at(0), k)};
}

}  // namespace

void add_onnx_shapes(Table& table) {
  table["Concat"] = [](const Call& call) -> Tensors {
    return {concat(std::span<const Tensor>(call.inputs), call.attributes.integer("axis", 1))};
  };
  table["Reshape"] = reshape_to;
  table["Flatten"] = flatten_at;
  table["Transpose"] = transpose_axes;
  table["Squeeze"] = squeeze_axes;
  table["Unsqueeze"] = unsqueeze_axes;
  table["Expand"] = expand_to;
  table["Tile"] = tile;
  table["Slice"] = slice_axes;
  table["Split"] = split_axis;
  table["Shape"] = shape_between;
  table["Size"] = [](const Call& call) -> Tensors { return {scalar(call.at(0).numel())}; };
  table["Trilu"] = triangle;
}

}  // namespace heed::conformance
