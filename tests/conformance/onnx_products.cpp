#include <heed/ops/arithmetic.h>
#include <heed/ops/einsum.h>
#include <heed/ops/expand.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/matmul.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/variance.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

/// alpha a b + beta c, both factors as stored or transposed; c broadcasts to
/// the product.
Tensors gemm(const Call& call) {
  (void)call.attributes.flag("broadcast");
  const Tensor a = call.attributes.flag("transA") ? transpose(call.at(0)) : call.at(0);
  const Tensor b = call.attributes.flag("transB") ? transpose(call.at(1)) : call.at(1);
  const double alpha = call.attributes.real("alpha", 1);
  const double beta = call.attributes.real("beta", 1);
  if (!call.at(2).defined()) return {mul(matmul(a, b), alpha)};
  return {addmm(expand(call.at(2), {a.size(0), b.size(1)}), a, b, beta, alpha)};
}

/// The type the normalization is computed in: f32 or wider than the operands.
void require_known_stash(const Call& call) {
  if (call.attributes.integer("stash_type", 1) != 1) throw Skip(call.op + ": only stash_type 1 is known");
}

Shape axes_from(int axis, int rank) {
  Shape axes;
  for (int i = axis; i < rank; ++i) axes.push_back(i);
  return axes;
}

/// The shape of x from `axis` on.
Shape tail_of(const Tensor& x, int axis) {
  Shape tail;
  for (int i = axis; i < x.rank(); ++i) tail.push_back(x.size(i));
  return tail;
}

/// Scale and bias may broadcast to the normalized shape.
Tensor fitted(const Tensor& parameter, const Shape& shape) {
  return parameter.defined() ? expand(parameter, shape) : parameter;
}

Tensors layer_normalization(const Call& call) {
  require_known_stash(call);
  const Tensor x = call.at(0);
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", -1), x.rank());
  const double epsilon = call.attributes.real("epsilon", 1e-5);
  const Shape tail = tail_of(x, axis);
  const Tensor y = layer_norm(x, tail, fitted(call.at(1), tail), fitted(call.at(2), tail), epsilon);
  if (call.outputs.size() == 1) return {y};
  const Shape axes = axes_from(axis, x.rank());
  return {y, mean(x, axes, true), rsqrt(add(variance(x, axes, 0, true), epsilon))};
}

Tensors rms_normalization(const Call& call) {
  require_known_stash(call);
  const Tensor x = call.at(0);
  const int axis = normalize_axis(call.op, call.attributes.integer("axis", -1), x.rank());
  const Shape tail = tail_of(x, axis);
  return {rms_norm(x, tail, fitted(call.at(1), tail), call.attributes.real("epsilon", 1e-5))};
}

/// x [N, C, ..] normalized over each of num_groups runs of channels; scale and
/// bias [C], or [num_groups] before version 21.
Tensors group_normalization(const Call& call) {
  require_known_stash(call);
  const Tensor x = call.at(0);
  const std::int64_t groups = call.attributes.integer("num_groups");
  const std::int64_t size = x.numel() / (x.size(0) * groups);
  const Tensor grouped = reshape(x, {x.size(0), groups, size});
  const Tensor normal = layer_norm(grouped, {size}, {}, {}, call.attributes.real("epsilon", 1e-5));
  if (call.opset < 21) {
    const Tensor scaled = mul(normal, along_axis(call.at(1), 1, 3));
    return {reshape(add(scaled, along_axis(call.at(2), 1, 3)), x.shape())};
  }
  const Tensor scaled = mul(reshape(normal, x.shape()), along_axis(call.at(1), 1, x.rank()));
  return {add(scaled, along_axis(call.at(2), 1, x.rank()))};
}

/// (x − mean) / (deviation + 1e-9)
Tensors mean_variance_normalization(const Call& call) {
  const Tensor x = call.at(0);
  const Shape axes = call.attributes.has("axes") ? call.attributes.integers("axes") : Shape{0, 2, 3};
  const Tensor deviation = sqrt(variance(x, axes, 0, true));
  return {div(sub(x, mean(x, axes, true)), add(deviation, 1e-9))};
}

}  // namespace

void add_onnx_products(Table& table) {
  table["MatMul"] = binary(matmul);
  table["Gemm"] = gemm;
  table["Einsum"] = [](const Call& call) -> Tensors {
    return {einsum(call.attributes.text("equation", ""), std::span<const Tensor>(call.inputs))};
  };
  table["LayerNormalization"] = layer_normalization;
  table["RMSNormalization"] = rms_normalization;
  table["GroupNormalization"] = group_normalization;
  table["MeanVarianceNormalization"] = mean_variance_normalization;
}

}  // namespace heed::conformance
