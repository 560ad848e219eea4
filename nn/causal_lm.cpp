#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/init.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/linear.h>
#include <heed/ops/reshape.h>

namespace heed::nn {
namespace {

constexpr std::int64_t most_layers = std::int64_t{1} << 31;

const CausalLMOptions& checked(const CausalLMOptions& options) {
  check_value(options.vocab_size >= 1, "CausalLM", "vocab_size", options.vocab_size, "at least 1");
  check_value(options.context >= 1, "CausalLM", "context", options.context, "at least 1");
  check_value(options.num_layers >= 1 && options.num_layers < most_layers, "CausalLM", "num_layers",
              options.num_layers, "at least 1, fewer than 2^31");
  return options;
}

bool ends_residual_branch(std::string_view path) {
  return path.ends_with("attention.out.weight") || path.ends_with("mlp.down.weight");
}

// [B, T]: the positions that follow each sample's length. Beyond the context they stay at its end: such
// tokens are either not counted, or the caches, being full, refuse them.
Tensor next_positions(const std::vector<std::int64_t>& lengths, std::int64_t tokens, std::int64_t context) {
  Tensor positions = zeros({static_cast<std::int64_t>(lengths.size()), tokens}, DType::i64);
  std::int64_t* data = positions.mutable_data<std::int64_t>();
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < tokens; ++i) *data++ = std::min(length + i, context - 1);
  }
  return positions;
}

// [.., T]: how far each token lies from the beginning of its document.
Tensor positions_within(const Tensor& documents) {
  const auto ids = documents.to_vector<std::int64_t>();
  Tensor positions = empty(documents.shape(), DType::i64);
  std::int64_t* position = positions.mutable_data<std::int64_t>();
  const auto length = static_cast<std::size_t>(documents.shape().back());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool begins = i % length == 0 || ids[i] != ids[i - 1];
    position[i] = begins ? 0 : position[i - 1] + 1;
  }
  return positions;
}

// The causal mask, with documents kept apart; `documents` is undefined where each row is one document.
AttentionMask mask_of(const Tensor& documents) {
  const AttentionMask causal = AttentionMask::causal();
  return documents.defined() ? causal & AttentionMask::documents(documents) : causal;
}

}  // namespace

TransformerBlockOptions block_options(const CausalLMOptions& o) {
  return {.attention = {.embed_dim = o.embed_dim,
                        .num_heads = o.num_heads,
                        .dropout = o.dropout,
                        .bias = o.bias,
                        .num_kv_heads = o.num_kv_heads,
                        .head_dim = o.head_dim,
                        .rope = o.rope},
          .mlp = {.hidden = o.hidden_dim, .bias = o.bias, .activation = o.activation, .gated = o.gated},
          .norm = {.kind = o.norm, .epsilon = o.norm_epsilon, .bias = o.bias},
          .dropout = o.dropout};
}

CausalLMOptions resolved(CausalLMOptions options) {
  const TransformerBlockOptions block = resolved(block_options(checked(options)));
  options.num_kv_heads = block.attention.num_kv_heads;
  options.head_dim = block.attention.head_dim;
  options.hidden_dim = block.mlp.hidden;
  options.rope = block.attention.rope;
  return options;
}

CausalLM::CausalLM(const CausalLMOptions& options, Generator& generator)
    : Module("CausalLM"),
      token({checked(options).vocab_size, options.embed_dim}, generator),
      dropout({options.dropout}),
      norm(resolved(block_options(options)).norm),
      options_(options) {
  if (!options.rope) position.emplace(EmbeddingOptions{options.context, options.embed_dim}, generator);
  blocks.reserve(static_cast<std::size_t>(options.num_layers));  // refused at once where memory has no room
  for (std::int64_t layer = 0; layer < options.num_layers; ++layer)
    blocks.emplace_back(block_options(options), generator);
  if (!options.tied) {
    head.emplace(LinearOptions{.in = options.embed_dim, .out = options.vocab_size, .bias = false}, generator);
  }
  initialise(generator);
}

void CausalLM::initialise(Generator& generator) {
  const double deviation = 0.02;
  const double branch = deviation / std::sqrt(2.0 * static_cast<double>(options_.num_layers));
  for (auto& [path, parameter] : named_parameters()) {
    if (parameter.rank() >= 2) {
      reset_normal(parameter, generator, ends_residual_branch(path) ? branch : deviation);
    } else if (path.ends_with("bias")) {
      reset_constant(parameter, 0);
    }
  }
}

// tokens [.., T], documents the same or undefined → x [.., T, E]
Tensor CausalLM::embed(const Tensor& tokens, const Tensor& documents, Generator* generator) const {
  check_dtype(name(), "tokens", tokens, {DType::i32, DType::i64});
  check_rank(name(), "tokens", tokens, 1, 2);
  const std::int64_t length = tokens.shape().back();
  if (length > options_.context) {
    fail<ShapeError>(name(), "tokens are longer than the context", tokens.shape().str(),
                     fmt::format("at most {} tokens", options_.context));
  }
  const Tensor x = token(tokens);
  if (!position) return dropout(x, generator);
  const Tensor positions = documents.defined() ? positions_within(documents) : arange(0, length);
  return dropout(x + (*position)(positions), generator);
}

// x [.., T, E] → logits [.., T, V]
Tensor CausalLM::score(const Tensor& x) const {
  const Tensor h = norm(x);
  return head ? (*head)(h) : linear(h, token.weight);
}

Tensor CausalLM::logits(const Tensor& tokens, const Tensor& documents, Generator* generator) const {
  const Scope scope = enter();
  Tensor x = embed(tokens, documents, generator);
  const AttentionMask mask = mask_of(documents);
  for (const TransformerBlock& block : blocks) x = block(x, mask, generator);
  return score(x);
}

Tensor CausalLM::operator()(const Tensor& tokens, Generator* generator) const {
  return logits(tokens, {}, generator);
}

void CausalLM::check_documents(const Tensor& tokens, const Tensor& documents) const {
  check_dtype(name(), "documents", documents, {DType::i64});
  check_same_shape(name(), "tokens", tokens, "documents", documents);
}

Tensor CausalLM::operator()(const Tensor& tokens, const Tensor& documents, Generator* generator) const {
  check_documents(tokens, documents);
  return logits(tokens, documents, generator);
}

Tensor CausalLM::mean_loss(const Tensor& scores, const Tensor& targets) const {
  const std::int64_t count = targets.numel();
  return cross_entropy(reshape(scores, {count, options_.vocab_size}), reshape(targets, {count}));
}

Tensor CausalLM::loss(const Tensor& tokens, const Tensor& targets, Generator* generator) const {
  check_same_shape(name(), "tokens", tokens, "targets", targets);
  return mean_loss((*this)(tokens, generator), targets);
}

Tensor CausalLM::loss(const Tensor& tokens, const Tensor& targets, const Tensor& documents,
                      Generator* generator) const {
  check_same_shape(name(), "tokens", tokens, "targets", targets);
  return mean_loss((*this)(tokens, documents, generator), targets);
}

std::vector<Tensor> CausalLM::attention_weights(const Tensor& tokens, const Tensor& documents) const {
  const Scope scope = enter();
  if (documents.defined()) check_documents(tokens, documents);
  Tensor x = embed(tokens, documents, nullptr);
  const AttentionMask mask = mask_of(documents);
  std::vector<Tensor> weights;
  for (const TransformerBlock& block : blocks) {
    const AttentionWeights result = block.with_weights(x, mask);
    weights.push_back(result.weights);
    x = result.output;
  }
  return weights;
}

std::vector<KVCache> CausalLM::make_caches(std::int64_t batch) const {
  std::vector<KVCache> caches;
  for (const TransformerBlock& block : blocks)
    caches.push_back(block.attention.make_cache(batch, options_.context));
  return caches;
}

Tensor CausalLM::decode(const Tensor& tokens, std::vector<KVCache>& caches,
                        std::span<const std::int64_t> counts) const {
  const Scope scope = enter();
  check_dtype(name(), "tokens", tokens, {DType::i32, DType::i64});
  check_rank(name(), "tokens", tokens, 2, 2);
  check_value(caches.size() == blocks.size(), name(), "number of caches",
              static_cast<std::int64_t>(caches.size()), fmt::format("{}, one for each block", blocks.size()));
  check_value(caches[0].options().batch == tokens.size(0), name(), "number of sequences", tokens.size(0),
              fmt::format("{}, the caches' batch", caches[0].options().batch));
  Tensor x = token(tokens);
  if (position) {
    x = x + (*position)(next_positions(caches[0].lengths(), tokens.size(1), options_.context));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i].decode(x, caches[i], counts);
  return score(x);
}

}  // namespace heed::nn
