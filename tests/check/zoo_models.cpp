#include <heed/ops/activation.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/embedding.h>
#include <heed/ops/gather.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/sort.h>

#include "zoo.h"

namespace heed::test::zoo {

Tensor sequence(DType dtype) {
  Generator generator(5);
  return randn({samples, positions, width}, generator, dtype);
}

Tensor heads(DType dtype) {
  Generator generator(7);
  return randn({samples, 2, positions, 4}, generator, dtype);
}

Tensor tokens() {
  Generator generator(6);
  return randint(0, vocabulary, {samples, positions}, generator);
}

Tensor lengths() { return tensor<std::int64_t>({3, positions}); }

Tensor documents() { return tensor<std::int64_t>({0, 0, 0, 1, 1, 2}); }

std::shared_ptr<nn::MultiHeadAttention> attention_module(nn::MultiHeadAttentionOptions options) {
  options.embed_dim = width;
  if (options.num_heads == 0) options.num_heads = 2;
  Generator generator(1);
  auto module = std::make_shared<nn::MultiHeadAttention>(options, generator);
  module->to(DType::f64);
  return module;
}

std::shared_ptr<nn::CausalLM> language_model(nn::CausalLMOptions options) {
  options.vocab_size = vocabulary;
  options.context = positions;
  options.num_layers = 2;
  options.num_heads = 2;
  options.embed_dim = width;
  Generator generator(1);
  return std::make_shared<nn::CausalLM>(options, generator);
}

Tensor parameter(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Generator generator(seed);
  return randn({rows, columns}, generator, DType::f64).set_requires_grad();
}

Tensor lower_triangle(std::int64_t n) {
  return le(reshape(arange(0, n), {1, n}), reshape(arange(0, n), {n, 1}));
}

Tensor later(const Tensor& x) {
  return concat({zeros_like(slice(x, 1, 0, 1)).detach(), slice(x, 1, 0, -1)}, 1);
}

Tensor earlier(const Tensor& x) {
  return concat({slice(x, 1, 1), zeros_like(slice(x, 1, 0, 1)).detach()}, 1);
}

Tensor gathered_vectors(const Tensor& table, const Tensor& tokens) {
  const ValuesIndices sorted = sort(reshape(tokens, {tokens.numel()}));
  const Tensor vectors = embedding(table, sorted.values);
  const Tensor back = index_select(vectors, 0, sort(sorted.indices).indices);
  return reshape(back, {tokens.size(0), tokens.size(1), table.size(1)});
}

Tensor dense(const Tensor& x) { return tanh(matmul(x, parameter(x.size(-1), x.size(-1)))); }

}  // namespace heed::test::zoo
