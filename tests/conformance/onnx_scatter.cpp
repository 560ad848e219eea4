#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/gather.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>

#include "flat_positions.h"
#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

using Combine = Tensor (*)(const Tensor&, const Tensor&);

Tensor replace(const Tensor&, const Tensor& update) { return update; }

Combine combine_of(const Call& call) {
  const std::string name = call.attributes.text("reduction", "none");
  if (name == "none") return replace;
  if (name == "add") return add;
  if (name == "mul") return mul;
  if (name == "max") return maximum;
  if (name == "min") return minimum;
  throw Skip(call.op + ": reduction '" + name + "' is not known");
}

/// Rows of x [n, m], each combined in turn with the updates [count, m] whose
/// position it is.
Tensor update_rows(const Tensor& x, const Tensor& positions, const Tensor& updates, Combine combine) {
  Tensors rows;
  for (std::int64_t row = 0; row < x.size(0); ++row) rows.push_back(select(x, 0, row));
  const std::vector<std::int64_t> targets = positions.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Tensor& row = rows[static_cast<std::size_t>(targets[i])];
    row = combine(row, select(updates, 0, static_cast<std::int64_t>(i)));
  }
  return rows.empty() ? x : stack(std::span<const Tensor>(rows), 0);
}

/// Flat position in a tensor of `shape` of every element of `indices`, each of
/// which replaces the coordinate along `axis`.
Tensor element_positions(const Tensor& indices, const Shape& shape, int axis) {
  const Strides strides = contiguous_strides(shape);
  const std::vector<std::int64_t> values = indices.to_vector<std::int64_t>();
  std::vector<std::int64_t> positions(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t position = values[i] * strides[axis];
    for (int k = indices.rank() - 1; k >= 0; --k) {
      if (k != axis) position += rest % indices.size(k) * strides[k];
      rest /= indices.size(k);
    }
    positions[i] = position;
  }
  return from_span(std::span<const std::int64_t>(positions), {indices.numel()});
}

Tensors scatter_elements(const Call& call) {
  const Tensor x = call.at(0);
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", 0), x.rank());
  const Tensor indices = from_the_front(call.at(1), x.size(axis));
  const Combine combine = combine_of(call);
  if (combine == replace) return {scatter(x, axis, indices, call.at(2))};
  if (combine == static_cast<Combine>(add)) return {scatter_add(x, axis, indices, call.at(2))};
  const Tensor flat = update_rows(reshape(x, {x.numel(), 1}), element_positions(indices, x.shape(), axis),
                                  reshape(call.at(2), {indices.numel(), 1}), combine);
  return {reshape(flat, x.shape())};
}

Tensors scatter_nd(const Call& call) {
  const Tensor x = call.at(0);
  const FlatPositions flat = flat_positions(x, call.at(1), 0);
  const Tensor updates = reshape(call.at(2), {flat.positions.numel(), flat.slice_size});
  const Tensor rows =
      update_rows(reshape(x, {flat.slices, flat.slice_size}), flat.positions, updates, combine_of(call));
  return {reshape(rows, x.shape())};
}

/// Writes the update of each sample into its cache from write_indices on, round
/// the end where circular.
Tensors scatter_cache(const Call& call) {
  const Tensor cache = call.at(0);
  const Tensor update = call.at(1);
  const std::string mode = call.attributes.text("mode", "linear");
  if (mode != "linear" && mode != "circular") throw Skip("TensorScatter: mode '" + mode + "' is not known");
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", -2), cache.rank());
  const Integers starts = call.at(2).defined() ? list_of(call.at(2)) : Integers{0};
  Tensors samples;
  for (std::int64_t sample = 0; sample < cache.size(0); ++sample) {
    const std::int64_t start = starts[starts.size() == 1 ? 0 : static_cast<std::size_t>(sample)];
    std::vector<std::int64_t> targets;
    for (std::int64_t i = 0; i < update.size(axis); ++i) {
      targets.push_back(mode == "linear" ? start + i : (start + i) % cache.size(axis));
    }
    const Tensor positions = along_axis(
        from_span(std::span<const std::int64_t>(targets), {update.size(axis)}), axis - 1, cache.rank() - 1);
    const Tensor source = select(update, 0, sample);
    samples.push_back(scatter(select(cache, 0, sample), axis - 1, expand(positions, source.shape()), source));
  }
  return {stack(std::span<const Tensor>(samples), 0)};
}

}  // namespace

void add_onnx_scatter(Table& table) {
  table["Scatter"] = scatter_elements;
  table["ScatterElements"] = scatter_elements;
  table["ScatterND"] = scatter_nd;
  table["TensorScatter"] = scatter_cache;
}

}  // namespace heed::conformance
