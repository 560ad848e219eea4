#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/nn/transformer_block.h>
#include <heed/ops/arithmetic.h>

namespace heed::nn {

TransformerBlockOptions resolved(TransformerBlockOptions options) {
  options.attention = resolved(options.attention);
  const std::int64_t width = options.attention.embed_dim;
  const std::string expected = fmt::format("attention.embed_dim, {}", width);
  if (options.mlp.dim == 0) options.mlp.dim = width;
  check_value(options.mlp.dim == width, "TransformerBlock", "mlp.dim", options.mlp.dim, expected);
  options.mlp = resolved(options.mlp);
  if (options.norm.normalized_shape.empty()) options.norm.normalized_shape = {width};
  if (options.norm.normalized_shape != Shape{width}) {
    fail<ValueError>("TransformerBlock", "norm.normalized_shape does not fit",
                     options.norm.normalized_shape.str(), expected);
  }
  options.norm = resolved(options.norm);
  return options;
}

TransformerBlock::TransformerBlock(const TransformerBlockOptions& options, Generator& generator)
    : Module("TransformerBlock"),
      options_(resolved(options)),
      norm1(options_.norm),
      attention(options_.attention, generator),
      norm2(options_.norm),
      mlp(options_.mlp, generator),
      dropout({options_.dropout}) {}

Tensor TransformerBlock::operator()(const Tensor& x, const AttentionMask& mask, Generator* generator) const {
  const Scope scope = enter();
  const Tensor z = x + dropout(attention(norm1(x), mask, generator), generator);
  return add_mlp(z, generator);
}

AttentionWeights TransformerBlock::with_weights(const Tensor& x, const AttentionMask& mask,
                                                Generator* generator) const {
  const Scope scope = enter();
  const Tensor h = norm1(x);
  const AttentionMask from_first = mask.has_query_start() ? mask : mask.query_start(0);  // as operator()
  const AttentionWeights attended = attention.with_weights(h, h, h, from_first, generator);
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
