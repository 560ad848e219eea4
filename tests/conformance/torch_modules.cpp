// Modules of torch.nn, with the parameters that a case gives in the places of our own.

#include <heed/nn/torch_attention.h>
#include <heed/nn/transformer_layers.h>

#include "tables.h"

namespace heed::conformance {
namespace {

/// Puts the inputs that bear the names of parameters in their places.
template <class M>
M with_inputs(M module, const Call& call) {
  module.to(call.at(0).dtype());
  module.eval();
  std::vector<Tensor> given;
  for (const auto& [path, parameter] : module.named_parameters()) {
    given.push_back(call.named(path));
    if (!given.back().defined()) throw Skip(call.op + ": input '" + path + "' is missing");
  }
  module.replace_parameters(given);
  return module;
}

nn::MultiHeadAttention attention_of(const Call& call) {
  const Attributes& attributes = call.attributes;
  Generator generator;
  return with_inputs(nn::MultiHeadAttention({.embed_dim = attributes.integer("embed_dim"),
                                             .num_heads = attributes.integer("num_heads"),
                                             .bias = attributes.flag("bias", true),
                                             .kdim = attributes.integer("kdim", 0),
                                             .vdim = attributes.integer("vdim", 0),
                                             .add_bias_kv = attributes.flag("add_bias_kv"),
                                             .add_zero_attn = attributes.flag("add_zero_attn"),
                                             .names = nn::ParameterNames::torch},
                                            generator),
                     call);
}

Tensors multihead_attention(const Call& call) {
  const Tensor query = call.named("query");
  const bool itself = call.attributes.flag("self_attention");
  if (call.attributes.flag("batched", true) != (query.rank() == 3)) {
    throw Skip("MultiheadAttention: 'batched' does not agree with the query");
  }
  (void)call.attributes.flag("need_weights", true);  // the names of the outputs say it too
  nn::TorchAttentionCall options;
  options.key_padding_mask = call.named("key_padding_mask");
  options.attn_mask = call.named("attn_mask");
  options.is_causal = call.attributes.flag("is_causal");
  options.need_weights = call.wants("weights");
  options.average_attn_weights = call.attributes.flag("average_attn_weights", true);
  options.batch_first = call.attributes.flag("batch_first");
  const AttentionWeights result =
      nn::torch_attention(attention_of(call), query, itself ? query : call.named("key"),
                          itself ? query : call.named("value"), options);
  Tensors outputs;
  for (const std::string& name : call.outputs) {
    if (name != "y" && name != "weights")
      throw Skip("MultiheadAttention: output '" + name + "' is not known");
    outputs.push_back(name == "y" ? result.output : result.weights);
  }
  return outputs;
}

nn::TransformerLayerOptions layer_options(const Call& call) {
  const Attributes& attributes = call.attributes;
  const std::string activation = attributes.text("activation", "relu");
  if (activation != "relu" && activation != "gelu")
    throw Skip("activation '" + activation + "' is not known");
  return {.d_model = attributes.integer("d_model"),
          .nhead = attributes.integer("num_heads"),
          .dim_feedforward = attributes.integer("hidden"),
          .dropout = 0,
          .activation = activation == "relu" ? nn::Activation::relu : nn::Activation::gelu,
          .layer_norm_eps = attributes.real("eps", 1e-5),
          .norm_first = attributes.flag("norm_first"),
          .bias = attributes.flag("bias", true)};
}

/// The mask of self-attention.
AttentionMask self_mask(const Call& call) {
  const AttentionMask given = nn::torch_mask(call.named("mask"), call.named("key_padding_mask"),
                                             call.attributes.integer("num_heads"), call.at(0).rank() == 3);
  return call.attributes.flag("causal") ? given & AttentionMask::causal() : given;
}

Tensors encoder_layer(const Call& call) {
  Generator generator;
  const auto layer = with_inputs(nn::TransformerEncoderLayer(layer_options(call), generator), call);
  return {layer(call.named("x"), self_mask(call))};
}

Tensors decoder_layer(const Call& call) {
  Generator generator;
  const auto layer = with_inputs(nn::TransformerDecoderLayer(layer_options(call), generator), call);
  const Tensor memory = call.named("memory");
  const AttentionMask memory_mask =
      nn::torch_mask(call.named("memory_mask"), call.named("memory_key_padding_mask"),
                     call.attributes.integer("num_heads"), memory.rank() == 3);
  return {layer(call.named("x"), memory, self_mask(call), memory_mask)};
}

}  // namespace

void add_torch_modules(Table& table) {
  table["MultiheadAttention"] = multihead_attention;
  table["TransformerEncoderLayer"] = encoder_layer;
  table["TransformerDecoderLayer"] = decoder_layer;
}

}  // namespace heed::conformance
