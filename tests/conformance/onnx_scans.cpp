#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/concat.h>
#include <heed/ops/extremum.h>
#include <heed/ops/prod.h>
#include <heed/ops/slice.h>
#include <heed/ops/sort.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

using Scan = Tensor (*)(const Tensor&, std::int64_t);

/// `exclusive`: element i takes in only those before it, so that the first one
/// is `start`.
Operation scan(Scan function, double start) {
  return [=](const Call& call) -> Tensors {
    const bool reverse = call.attributes.flag("reverse");
    Tensor x = call.at(0);
    const int axis = normalize_axis(call.op, list_of(call.at(1))[0], x.rank());
    if (reverse) x = flip(x, {axis});
    if (call.attributes.flag("exclusive") && x.size(axis) > 0) {
      Shape edge = x.shape();
      edge[axis] = 1;
      x = concat({full(edge, start, x.dtype()), narrow(x, axis, 0, x.size(axis) - 1)}, axis);
    }
    const Tensor result = function(x, axis);
    return {reverse ? flip(result, {axis}) : result};
  };
}

using Position = Tensor (*)(const Tensor&, std::int64_t, bool);

/// The first of equals or, with select_last_index, the last: the first one seen
/// from the end.
Operation position(Position function) {
  return [function](const Call& call) -> Tensors {
    const Tensor x = call.at(0);
    const int axis = normalize_axis(call.op, call.attributes.integer("axis", 0), x.rank());
    const bool keepdims = call.attributes.flag("keepdims", true);
    if (!call.attributes.flag("select_last_index")) return {function(x, axis, keepdims)};
    return {sub(Scalar(x.size(axis) - 1), function(flip(x, {axis}), axis, keepdims))};
  };
}

/// k is an attribute in version 1 and an input since; results are sorted
/// whether asked for or not.
Tensors top_k(const Call& call) {
  (void)call.attributes.flag("sorted", true);
  const std::int64_t k = call.at(1).defined() ? list_of(call.at(1))[0] : call.attributes.integer("k");
  const auto [values, indices] =
      topk(call.at(0), k, call.attributes.integer("axis", -1), call.attributes.flag("largest", true));
  return {values, indices};
}

}  // namespace

void add_onnx_scans(Table& table) {
  table["CumSum"] = scan(cumsum, 0);
  table["CumProd"] = scan(cumprod, 1);
  table["ArgMax"] = position(argmax);
  table["ArgMin"] = position(argmin);
  table["TopK"] = top_k;
}

}  // namespace heed::conformance
