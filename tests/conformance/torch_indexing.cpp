#include <heed/ops/embedding.h>
#include <heed/ops/gather.h>
#include <heed/ops/pad.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sort.h>
#include <heed/ops/where.h>

#include "tables.h"

namespace heed::conformance {
namespace {

using Write = Tensor (*)(const Tensor&, std::int64_t, const Tensor&, const Tensor&);

Operation writer(Write function) {
  return [function](const Call& call) -> Tensors {
    return {
        function(call.named("x"), call.attributes.integer("dim"), call.named("index"), call.named("src"))};
  };
}

using Read = Tensor (*)(const Tensor&, std::int64_t, const Tensor&);

Operation reader(Read function) {
  return [function](const Call& call) -> Tensors {
    return {function(call.named("x"), call.attributes.integer("dim"), call.named("index"))};
  };
}

Tensors largest(const Call& call) {
  (void)call.attributes.flag("sorted", true);  // heed always sorts, which is right for both
  const auto [values, indices] =
      topk(call.at(0), call.attributes.integer("k"), call.attributes.integer("dim", -1),
           call.attributes.flag("largest", true));
  return {values, indices};
}

Tensors sorted(const Call& call) {
  (void)call.attributes.flag("stable");  // heed always keeps the order of equals
  const auto [values, indices] =
      sort(call.at(0), call.attributes.integer("dim", -1), call.attributes.flag("descending"));
  return {values, indices};
}

Tensors repeat_each(const Call& call) {
  const std::int64_t count = call.attributes.integer("repeats");
  if (!call.attributes.has("dim")) return {repeat_interleave(flatten(call.at(0)), count, 0)};
  return {repeat_interleave(call.at(0), count, call.attributes.integer("dim"))};
}

}  // namespace

void add_torch_indexing(Table& table) {
  table["embedding"] = [](const Call& call) -> Tensors {
    return {embedding(call.named("weight"), call.named("index"),
                      call.attributes.optional_integer("padding_idx"))};
  };
  table["gather"] = reader(gather);
  table["index_select"] = reader(index_select);
  table["scatter"] = writer(scatter);
  table["scatter_add"] = writer(scatter_add);
  table["index_add"] = writer(index_add);
  table["topk"] = largest;
  table["sort"] = sorted;
  table["where"] = [](const Call& call) -> Tensors {
    return {where(call.named("condition"), call.named("a"), call.named("b"))};
  };
  table["masked_fill"] = [](const Call& call) -> Tensors {
    return {masked_fill(call.named("x"), call.named("mask"), Scalar(call.attributes.real("value")))};
  };
  table["repeat_interleave"] = repeat_each;
}

}  // namespace heed::conformance
