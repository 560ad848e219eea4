#include <heed/nn/transformer_layers.h>
#include <heed/ops/arithmetic.h>

namespace heed::nn {
namespace {

MultiHeadAttentionOptions attention_of(const TransformerLayerOptions& options) {
  return {.embed_dim = options.d_model,
          .num_heads = options.nhead,
          .dropout = options.dropout,
          .bias = options.bias,
          .names = ParameterNames::torch};
}

LinearOptions up_of(const TransformerLayerOptions& options) {
  return {options.d_model, options.dim_feedforward, options.bias};
}

LinearOptions down_of(const TransformerLayerOptions& options) {
  return {options.dim_feedforward, options.d_model, options.bias};
}

NormOptions norm_of(const TransformerLayerOptions& options) {
  return {.normalized_shape = {options.d_model}, .epsilon = options.layer_norm_eps, .bias = options.bias};
}

// x + branch(norm(x)), or norm(x + branch(x)).
template <class Branch>
Tensor residual(const Tensor& x, const LayerNorm& norm, bool norm_first, const Branch& branch) {
  return norm_first ? x + branch(norm(x)) : norm(x + branch(x));
}

// A layer's position-wise branch, with the dropout after its activation.
template <class Layer>
Tensor feed_forward(const Layer& layer, const Tensor& z, Generator* generator) {
  const Tensor up = layer.linear1(z);
  const Tensor active = activate(up, layer.options().activation);
  return layer.linear2(layer.dropout(active, generator));
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& options, Generator& generator)
    : Module("TransformerEncoderLayer"),
      self_attn(attention_of(options), generator),
      linear1(up_of(options), generator),
      linear2(down_of(options), generator),
      norm1(norm_of(options)),
      norm2(norm_of(options)),
      dropout({options.dropout}),
      options_(options) {}

Tensor TransformerEncoderLayer::operator()(const Tensor& src, const AttentionMask& mask,
                                           Generator* generator) const {
  const Scope scope = enter();
  const Tensor z = residual(src, norm1, options_.norm_first, [&](const Tensor& x) {
    return dropout(self_attn(x, mask, generator), generator);
  });
  return residual(z, norm2, options_.norm_first,
                  [&](const Tensor& x) { return dropout(feed_forward(*this, x, generator), generator); });
}

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerLayerOptions& options, Generator& generator)
    : Module("TransformerDecoderLayer"),
      self_attn(attention_of(options), generator),
      multihead_attn(attention_of(options), generator),
      linear1(up_of(options), generator),
      linear2(down_of(options), generator),
      norm1(norm_of(options)),
      norm2(norm_of(options)),
      norm3(norm_of(options)),
      dropout({options.dropout}),
      options_(options) {}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory, const AttentionMask& mask,
                                           const AttentionMask& memory_mask, Generator* generator) const {
  const Scope scope = enter();
  const bool first = options_.norm_first;
  const Tensor u = residual(
      tgt, norm1, first, [&](const Tensor& x) { return dropout(self_attn(x, mask, generator), generator); });
  const Tensor z = residual(u, norm2, first, [&](const Tensor& x) {
    return dropout(multihead_attn(x, memory, memory, memory_mask, generator), generator);
  });
  return residual(z, norm3, first,
                  [&](const Tensor& x) { return dropout(feed_forward(*this, x, generator), generator); });
}

}  // namespace heed::nn
