#include <cmath>
#include <limits>

#include <heed/core/factory.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/matmul.h>
#include <heed/ops/pad.h>
#include <heed/ops/reshape.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// [B, L, heads·D] → [B, heads, L, D]; four axes stay as they are.
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  if (x.rank() != 3) return x;
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

struct Operands {
  Tensor q, k, v;  // [B, heads, L, D], past keys included
  Tensor mask;     // boolean or floating, as long as the keys; undefined = none
  Tensor lengths;  // i64 [B]; undefined = none
  std::int64_t past = 0;
};

/// A mask shorter than the keys is closed beyond its end.
Tensor lengthened(const Tensor& mask, std::int64_t keys) {
  if (!mask.defined() || mask.size(-1) >= keys) return mask;
  Shape after = Shape::filled(mask.rank(), 0);
  after[mask.rank() - 1] = keys - mask.size(-1);
  if (mask.dtype() == DType::boolean) return pad(mask, Shape::filled(mask.rank(), 0), after, Scalar(false));
  return pad(mask, Shape::filled(mask.rank(), 0), after, -infinity);
}

Operands operands_of(const Call& call) {
  Operands result;
  const bool packed = call.at(0).rank() == 3;
  const std::int64_t heads = packed ? call.attributes.integer("q_num_heads") : call.at(0).size(1);
  const std::int64_t key_heads = packed ? call.attributes.integer("kv_num_heads") : call.at(1).size(1);
  if (call.attributes.integer("q_num_heads", heads) != heads ||
      call.attributes.integer("kv_num_heads", key_heads) != key_heads) {
    throw Skip("Attention: head counts differ from the shapes");
  }
  result.q = split_heads(call.at(0), heads);
  result.k = split_heads(call.at(1), key_heads);
  result.v = split_heads(call.at(2), key_heads);
  if (call.at(4).defined()) {
    result.past = call.at(4).size(2);
    result.k = concat({call.at(4), result.k}, 2);
    result.v = concat({call.at(5), result.v}, 2);
  }
  result.mask = lengthened(call.at(3), result.k.size(2));
  result.lengths = call.at(6);
  return result;
}

AttentionMask mask_of(const Call& call, const Operands& operands) {
  AttentionMask mask;
  if (operands.mask.defined()) {
    const bool boolean = operands.mask.dtype() == DType::boolean;
    mask = boolean ? AttentionMask::attend(operands.mask) : AttentionMask::bias(operands.mask);
  }
  if (operands.lengths.defined()) mask = mask & AttentionMask::key_lengths(operands.lengths);
  const bool causal = call.attributes.flag("is_causal");
  const std::int64_t left = call.attributes.integer("left_window_size", -1);
  const std::int64_t right = call.attributes.integer("right_window_size", -1);
  if (causal) mask = mask & AttentionMask::causal();
  if (left >= 0 || right >= 0) mask = mask & AttentionMask::window(left, right);
  // The first query follows the past; where lengths are given instead, the last one stands on the last key
  // of its sample.
  if (operands.lengths.defined() && !call.at(4).defined()) {
    return mask.query_start(sub(operands.lengths, operands.q.size(2)));
  }
  return mask.query_start(operands.past);
}

/// The logits as ONNX shows them: 0 products, 1 after the softcap, 2 with mask
/// and bias too.
Tensor shown_logits(const Operands& operands, const AttentionOptions& options, std::int64_t mode) {
  const std::int64_t group = operands.q.size(1) / operands.k.size(1);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(operands.q.size(-1))));
  const Tensor keys = repeat_interleave(operands.k, group, 1);
  Tensor logits = mul(matmul(operands.q, transpose(keys)), scale);
  if (mode >= 1 && options.softcap > 0) {
    logits = mul(tanh(mul(logits, 1 / options.softcap)), options.softcap);
  }
  if (mode < 2) return logits;
  const Tensor bias = options.mask.additive(logits.shape(), logits.dtype());
  if (bias.defined()) logits = add(logits, bias);
  const Tensor open = options.mask.open_pairs(logits.shape());
  return open.defined() ? where(open, logits, Scalar(-infinity)) : logits;
}

Tensors onnx_attention(const Call& call) {
  const Operands operands = operands_of(call);
  const std::int64_t mode = call.attributes.integer("qk_matmul_output_mode", 0);
  (void)call.attributes.integer("softmax_precision",
                                1);  // the softmax is never narrower than f32
  const bool shows = call.outputs.size() > 3 && !call.outputs[3].empty();
  if (mode < 0 || mode > 3) throw Skip("Attention: qk_matmul_output_mode is not known");
  AttentionOptions options;
  options.mask = mask_of(call, operands);
  options.scale = call.attributes.optional_real("scale");
  options.softcap = call.attributes.real("softcap", 0);
  options.need_weights = shows && mode == 3;
  const AttentionResult result = attention(operands.q, operands.k, operands.v, options);
  const Tensor y = call.at(0).rank() == 3 ? join_heads(result.output) : result.output;
  if (!shows) return {y, operands.k, operands.v};
  const Tensor shown = mode == 3 ? result.weights : shown_logits(operands, options, mode);
  return {y, operands.k, operands.v, shown};
}

/// Without score and probability functions, which are attributes that nothing
/// here reads, it is attention.
Tensors flex_attention(const Call& call) {
  (void)call.attributes.integer("softmax_precision", 1);
  AttentionOptions options;
  options.scale = call.attributes.optional_real("scale");
  return {attention(call.at(0), call.at(1), call.at(2), options).output};
}

}  // namespace

void add_onnx_attention(Table& table) {
  table["Attention"] = onnx_attention;
  table["FlexAttention"] = flex_attention;
}

}  // namespace heed::conformance
