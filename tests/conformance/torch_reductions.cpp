#include <heed/ops/extremum.h>
#include <heed/ops/logsumexp.h>
#include <heed/ops/prod.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>
#include <heed/ops/variance.h>
#include <heed/ops/vector_norm.h>

#include "tables.h"

namespace heed::conformance {
namespace {

/// The attribute `dim`, a number or a list; nothing, which means all axes,
/// where it is absent.
Shape axes_of(const Call& call) {
  return call.attributes.has("dim") ? call.attributes.integers("dim") : Shape();
}

bool keepdim_of(const Call& call) { return call.attributes.flag("keepdim"); }

double correction_of(const Call& call) {
  if (call.attributes.has("correction")) return call.attributes.real("correction");
  return call.attributes.flag("unbiased", true) ? 1 : 0;
}

using Reduce = Tensor (*)(const Tensor&, const Shape&, bool);

/// NAME over the axes of `dim`, NAME_all over everything.
void add_reduction(Table& table, const std::string& name, Reduce function) {
  table[name] = [function](const Call& call) -> Tensors {
    return {function(call.at(0), axes_of(call), keepdim_of(call))};
  };
  table[name + "_all"] = [function](const Call& call) -> Tensors {
    return {function(call.at(0), {}, false)};
  };
}

using Moment = Tensor (*)(const Tensor&, const Shape&, double, bool);

void add_moment(Table& table, const std::string& name, Moment function) {
  table[name] = [function](const Call& call) -> Tensors {
    return {function(call.at(0), axes_of(call), correction_of(call), keepdim_of(call))};
  };
  table[name + "_all"] = [function](const Call& call) -> Tensors {
    return {function(call.at(0), {}, correction_of(call), false)};
  };
}

using Extremum = ValuesIndices (*)(const Tensor&, std::int64_t, bool);

void add_extremum(Table& table, const std::string& name, Extremum function) {
  table[name] = [function](const Call& call) -> Tensors {
    const auto [values, indices] = function(call.at(0), call.attributes.integer("dim"), keepdim_of(call));
    return {values, indices};
  };
}

using Position = Tensor (*)(const Tensor&, std::int64_t, bool);

void add_position(Table& table, const std::string& name, Position function) {
  table[name] = [function](const Call& call) -> Tensors {
    if (!call.attributes.has("dim")) return {function(flatten(call.at(0)), 0, false)};
    return {function(call.at(0), call.attributes.integer("dim"), keepdim_of(call))};
  };
  table[name + "_all"] = [function](const Call& call) -> Tensors {
    return {function(flatten(call.at(0)), 0, false)};
  };
}

Tensors product(const Call& call) {
  if (!call.attributes.has("dim")) return {prod(call.at(0))};
  return {prod(call.at(0), call.attributes.integer("dim"), keepdim_of(call))};
}

Tensors norm(const Call& call) {
  return {vector_norm(call.at(0), call.attributes.real("ord", 2), axes_of(call), keepdim_of(call))};
}

}  // namespace

void add_torch_reductions(Table& table) {
  add_reduction(table, "sum", sum);
  add_reduction(table, "mean", mean);
  add_reduction(table, "amax", amax);
  add_reduction(table, "amin", amin);
  add_reduction(table, "max", amax);
  add_reduction(table, "min", amin);
  add_reduction(table, "logsumexp", logsumexp);
  add_moment(table, "var", variance);
  add_moment(table, "std", standard_deviation);
  add_extremum(table, "max_dim", max);
  add_extremum(table, "min_dim", min);
  add_position(table, "argmax", argmax);
  add_position(table, "argmin", argmin);
  table["prod"] = product;
  table["prod_all"] = [](const Call& call) -> Tensors { return {prod(call.at(0))}; };
  table["vector_norm"] = norm;
  table["vector_norm_all"] = norm;
  table["cumsum"] = [](const Call& call) -> Tensors {
    return {cumsum(call.at(0), call.attributes.integer("dim"))};
  };
  table["cumprod"] = [](const Call& call) -> Tensors {
    return {cumprod(call.at(0), call.attributes.integer("dim"))};
  };
}

}  // namespace heed::conformance
