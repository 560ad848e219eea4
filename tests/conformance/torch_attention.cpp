#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/concat.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/linear.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

#include "gelu_form.h"
#include "tables.h"

namespace heed::conformance {
namespace {

struct Operands {
  Tensor q, k, v;
};

/// [B, L, 3·heads·D] → three of [B, heads, L, D].
Operands unpack(const Tensor& x, std::int64_t heads) {
  const std::int64_t width = x.size(-1) / (3 * heads);
  const Tensor parts = permute(reshape(x, {x.size(0), x.size(1), 3, heads, width}), {2, 0, 3, 1, 4});
  return {select(parts, 0, 0), select(parts, 0, 1), select(parts, 0, 2)};
}

/// [B, heads, L, D] → [B, L, heads·D].
Tensor join_heads(const Tensor& y) {
  return reshape(transpose(y, 1, 2), {y.size(0), y.size(2), y.size(1) * y.size(3)});
}

Operands operands_of(const Call& call, const std::string& layout) {
  Operands given{call.named("q"), call.named("k"), call.named("v")};
  if (layout.empty()) return given;
  if (layout == "blhd") return {transpose(given.q, 1, 2), transpose(given.k, 1, 2), transpose(given.v, 1, 2)};
  if (layout == "shared") return {call.at(0), call.at(0), call.at(0)};
  if (layout == "packed") {
    const std::string name = call.attributes.has("heads") ? "heads" : "num_heads";
    return unpack(call.at(0), call.attributes.integer(name));
  }
  if (layout == "sliced") {
    const std::int64_t keys = call.attributes.integer("keys");
    return {given.q, narrow(given.k, -2, 0, keys), narrow(given.v, -2, 0, keys)};
  }
  throw Skip("scaled_dot_product_attention: layout '" + layout + "' is not known");
}

AttentionMask mask_of(const Call& call) {
  const Tensor given = call.named("mask");
  AttentionMask mask;
  if (given.defined()) {
    mask = given.dtype() == DType::boolean ? AttentionMask::attend(given) : AttentionMask::bias(given);
  }
  if (call.attributes.flag("causal")) mask = mask & AttentionMask::causal();
  if (call.attributes.has("window")) {
    const Shape bounds = call.attributes.integers("window");
    if (bounds[0] >= 0 || bounds[1] >= 0) mask = mask & AttentionMask::window(bounds[0], bounds[1]);
  }
  const std::string align = call.attributes.text("align", "bottom_right");
  if (align != "top_left" && align != "bottom_right") {
    throw Skip("scaled_dot_product_attention: align '" + align + "' is not known");
  }
  return align == "top_left" ? mask.query_start(0) : mask;
}

AttentionOptions options_of(const Call& call) {
  AttentionOptions options;
  options.mask = mask_of(call);
  options.scale = call.attributes.optional_real("scale");
  options.softcap = call.attributes.real("softcap", 0);
  options.sink = call.named("sink");
  options.dropout_keep = call.named("keep");
  options.dropout = call.attributes.real("dropout", 0);
  if (!options.dropout_keep.defined() && options.dropout != 0) {
    throw Skip("scaled_dot_product_attention: dropout without keep");
  }
  (void)call.attributes.has("want");  // the names of the outputs say it too
  options.need_weights = call.wants("weights");
  options.need_lse = call.wants("lse");
  return options;
}

Tensors scaled_dot_product(const Call& call) {
  const std::string layout = call.attributes.text("layout", "");
  Operands operands = operands_of(call, layout);
  if (call.named("past_k").defined()) operands.k = concat({call.named("past_k"), operands.k}, -2);
  if (call.named("past_v").defined()) operands.v = concat({call.named("past_v"), operands.v}, -2);
  const AttentionResult result = attention(operands.q, operands.k, operands.v, options_of(call));
  Tensors outputs;
  for (const std::string& name : call.outputs) {
    if (name == "weights") {
      outputs.push_back(result.weights);
    } else if (name == "lse") {
      outputs.push_back(result.lse);
    } else if (name == "y") {
      const Tensor rows = layout == "blhd" ? transpose(result.output, 1, 2) : result.output;
      outputs.push_back(layout == "packed" ? join_heads(rows) : rows);
    } else {
      throw Skip("scaled_dot_product_attention: output '" + name + "' is not known");
    }
  }
  return outputs;
}

/// z = x + attention(layer_norm(x)),  y = z + linear(gelu(linear(z))).
Tensors attention_block(const Call& call) {
  const Tensor x = call.named("x");
  const Tensor h = layer_norm(x, {x.size(-1)}, call.named("norm_weight"), call.named("norm_bias"),
                              call.attributes.real("eps", 1e-5));
  const auto [q, k, v] =
      unpack(linear(h, call.named("w_qkv"), call.named("b_qkv")), call.attributes.integer("heads"));
  AttentionOptions options;
  if (call.attributes.flag("causal")) options.mask = AttentionMask::causal();
  const Tensor z = add(x, join_heads(attention(q, k, v, options).output));
  const Tensor up = gelu(linear(z, call.named("w_up"), call.named("b_up")), gelu_form(call));
  return {add(z, linear(up, call.named("w_down"), call.named("b_down")))};
}

}  // namespace

void add_torch_attention(Table& table) {
  table["scaled_dot_product_attention"] = scaled_dot_product;
  table["attention_block"] = attention_block;
}

}  // namespace heed::conformance
