#include <heed/ops/einsum.h>
#include <heed/ops/expand.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/rope.h>
#include <heed/ops/transpose.h>

#include "tables.h"

namespace heed::conformance {
namespace {

/// A factor of a product, first expanded or with its last two axes swapped
/// where attributes say so.
Tensor factor(const Call& call, const std::string& name) {
  Tensor x = call.named(name);
  if (call.attributes.has("expand_" + name)) x = expand(x, call.attributes.integers("expand_" + name));
  if (call.attributes.flag("transpose_" + name)) x = transpose(x);
  return x;
}

Tensors matmul_self(const Call& call) {
  const bool transpose_a = call.attributes.flag("transpose_a");
  const bool transpose_b = call.attributes.flag("transpose_b", true);
  const Tensor a = call.at(0);
  return {matmul(transpose_a ? transpose(a) : a, transpose_b ? transpose(a) : a)};
}

Tensors turn(const Call& call) {
  const std::string layout = call.attributes.text("layout", "half");
  if (layout != "half" && layout != "interleaved") throw Skip("rope: layout '" + layout + "' is not known");
  RopeOptions options;
  options.layout = layout == "half" ? RopeLayout::half : RopeLayout::interleaved;
  options.base = call.attributes.real("base", 10000);
  options.rotary = call.attributes.integer("rotary", 0);
  return {rope(call.named("x"), call.named("positions"), options)};
}

}  // namespace

void add_torch_products(Table& table) {
  table["matmul"] = [](const Call& call) -> Tensors {
    return {matmul(factor(call, "a"), factor(call, "b"))};
  };
  table["matmul_self"] = matmul_self;
  table["linear"] = [](const Call& call) -> Tensors {
    return {linear(call.named("x"), call.named("weight"), call.named("bias"))};
  };
  table["addmm"] = [](const Call& call) -> Tensors {
    return {addmm(call.named("c"), call.named("a"), call.named("b"), Scalar(call.attributes.real("beta", 1)),
                  Scalar(call.attributes.real("alpha", 1)))};
  };
  table["einsum"] = [](const Call& call) -> Tensors {
    return {einsum(call.attributes.text("equation", ""), std::span<const Tensor>(call.inputs))};
  };
  table["rope"] = turn;
  table["layer_norm"] = [](const Call& call) -> Tensors {
    return {layer_norm(call.named("x"), call.attributes.integers("normalized_shape"), call.named("weight"),
                       call.named("bias"), call.attributes.real("eps", 1e-5))};
  };
  table["rms_norm"] = [](const Call& call) -> Tensors {
    return {rms_norm(call.named("x"), call.attributes.integers("normalized_shape"), call.named("weight"),
                     call.attributes.real("eps"))};
  };
}

}  // namespace heed::conformance
