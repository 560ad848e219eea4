#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/gather.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/where.h>

#include "flat_positions.h"
#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

/// The axis gives way to all axes of the indices.
Tensors gather_slices(const Call& call) {
  const Tensor x = call.at(0);
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", 0), x.rank());
  const Tensor indices = from_the_front(call.at(1), x.size(axis));
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.size(i));
  for (const std::int64_t size : indices.shape()) shape.push_back(size);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x.size(i));
  return {reshape(index_select(x, axis, flatten(indices)), shape)};
}

Tensors gather_elements(const Call& call) {
  const Tensor x = call.at(0);
  const std::int64_t axis = call.attributes.integer("axis", 0);
  return {gather(x, axis, from_the_front(call.at(1), x.size(static_cast<int>(axis))))};
}

/// Each tuple along the last axis of the indices names one slice of x; the
/// first batch_dims axes are shared.
Tensors gather_nd(const Call& call) {
  const Tensor x = call.at(0);
  const auto batch = static_cast<int>(call.attributes.integer("batch_dims", 0));
  const FlatPositions flat = flat_positions(x, call.at(1), batch);
  Shape shape;
  for (int i = 0; i + 1 < call.at(1).rank(); ++i) shape.push_back(call.at(1).size(i));
  for (int i = flat.axes; i < x.rank(); ++i) shape.push_back(x.size(i));
  return {reshape(index_select(reshape(x, {flat.slices, flat.slice_size}), 0, flat.positions), shape)};
}

/// values = [off, on]; an index outside −depth … depth−1 marks nothing.
Tensors one_hot_values(const Call& call) {
  const auto depth = static_cast<std::int64_t>(number_of(reshape(call.at(1), {})));
  const Tensor indices = from_the_front(call.at(0), depth);
  const int rank = indices.rank() + 1;
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", -1), rank);
  const Tensor marks = eq(unsqueeze(indices, axis), along_axis(arange(0, depth), axis, rank));
  return {where(marks, select(call.at(2), 0, 1), select(call.at(2), 0, 0))};
}

}  // namespace

void add_onnx_indexing(Table& table) {
  table["Gather"] = gather_slices;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
  table["OneHot"] = one_hot_values;
}

}  // namespace heed::conformance
