#include <heed/core/scope.h>
#include <heed/nn/transformer_block.h>
#include <heed/ops/arithmetic.h>

namespace heed::nn {
namespace {

NormOptions norm_of(const TransformerBlockOptions& o) {
  return {.normalized_shape = {o.embed_dim}, .kind = o.norm, .epsilon = o.norm_epsilon, .bias = o.bias};
}

MultiHeadAttentionOptions attention_of(const TransformerBlockOptions& o) {
  return {.embed_dim = o.embed_dim,
          .num_heads = o.num_heads,
          .dropout = o.dropout,
          .bias = o.bias,
          .num_kv_heads = o.num_kv_heads,
          .head_dim = o.head_dim,
          .rope = o.rope};
}

MLPOptions mlp_of(const TransformerBlockOptions& o) {
  return {.dim = o.embed_dim,
          .hidden = o.hidden_dim,
          .bias = o.bias,
          .activation = o.activation,
          .gated = o.gated};
}

}  // namespace

TransformerBlock::TransformerBlock(const TransformerBlockOptions& options, Generator& generator)
    : Module("TransformerBlock"),
      norm1(norm_of(options)),
      attention(attention_of(options), generator),
      norm2(norm_of(options)),
      mlp(mlp_of(options), generator),
      dropout({options.dropout}),
      options_(options) {}

Tensor TransformerBlock::operator()(const Tensor& x, const AttentionMask& mask, Generator* generator) const {
  const Scope scope = enter();
  const Tensor z = x + dropout(attention(norm1(x), mask, generator), generator);
  return add_mlp(z, generator);
}

AttentionWeights TransformerBlock::with_weights(const Tensor& x, const AttentionMask& mask,
                                                Generator* generator) const {
  const Scope scope = enter();
  const Tensor h = norm1(x);
  const AttentionWeights attended = attention.with_weights(h, h, h, mask, generator);
  return {add_mlp(x + dropout(attended.output, generator), generator), attended.weights};
}

Tensor TransformerBlock::decode(const Tensor& x, KVCache& cache, std::span<const std::int64_t> counts) const {
  const Scope scope = enter();
  return add_mlp(x + attention.decode(norm1(x), cache, counts), nullptr);
}

Tensor TransformerBlock::add_mlp(const Tensor& z, Generator* generator) const {
  return z + dropout(mlp(norm2(z)), generator);
}

}  // namespace heed::nn
