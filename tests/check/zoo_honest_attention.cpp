#include <limits>

#include <heed/core/checkpoint.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/torch_attention.h>
#include <heed/nn/transformer_layers.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/einsum.h>
#include <heed/ops/matmul.h>
#include <heed/ops/rope.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Attention in all its forms.
namespace heed::test::zoo {
namespace {

using check::SequenceModel;

SequenceModel attend(const AttentionMask& mask, const nn::MultiHeadAttentionOptions& options = {}) {
  return [m = attention_module(options), mask](const Tensor& x) { return (*m)(x, mask); };
}

SequenceModel unfused(SequenceModel model) {
  return [model = std::move(model)](const Tensor& x) {
    const NoFusion guard;
    return model(x);
  };
}

// Of bare heads.
SequenceModel bare(const AttentionOptions& options) {
  return [options](const Tensor& x) { return attention(x, x, x, options).output; };
}

Tensor causal_weights(const Tensor& x, double closed) {
  const Tensor scores = mul(matmul(x, transpose(x)), 0.35);
  return softmax(masked_fill(scores, logical_not(lower_triangle(x.size(-2))), closed));
}

// The seed's own code, to the letter: closed logits are −1e9, and every value is read.
Tensor seed_attention(const Tensor& x) { return matmul(causal_weights(x, -1e9), x); }

Tensor einsum_attention(const Tensor& x) {
  const Tensor scores = mul(einsum("bqc,bkc->bqk", {x, x}), 0.35);
  const Tensor closed = logical_not(lower_triangle(x.size(1)));
  return einsum("bqk,bkc->bqc", {softmax(masked_fill(scores, closed, -1e9)), x});
}

Tensor textbook(const Tensor& x) {
  return scaled_dot_product_attention(x, x, x, lower_triangle(x.size(-2))).output;
}

std::vector<Honest> fused() {
  const AttentionMask causal = AttentionMask::causal();
  std::vector<Honest> models;
  models.push_back({"causal", attend(causal), sequence()});
  models.push_back({"window", attend(AttentionMask::window(2, 0)), sequence()});
  models.push_back({"grouped heads", attend(causal, {.num_heads = 4, .num_kv_heads = 2}), sequence()});
  models.push_back({"rope", attend(causal, {.rope = RopeOptions{}}), sequence()});
  models.push_back({"queries and keys normed", attend(causal, {.qk_norm = nn::NormKind::rms}), sequence()});
  models.push_back({"sink", attend(causal, {.sink = true}), sequence()});
  models.push_back({"extra keys", attend(causal, {.add_bias_kv = true, .add_zero_attn = true}), sequence()});
  models.push_back({"softcap", attend(causal, {.softcap = 2}), sequence()});
  const Tensor slopes = tensor({0.5, 0.1});
  models.push_back({"alibi", attend(causal & AttentionMask::alibi(slopes)), sequence()});
  models.push_back({"bias of -inf",
                    bare({.mask = AttentionMask::bias(where(lower_triangle(positions),
                                                            zeros({positions, positions}, DType::f64),
                                                            -std::numeric_limits<double>::infinity()))}),
                    heads(),
                    {.time_axis = 2}});
  models.push_back({"f32", bare({.mask = causal}), heads(DType::f32), {.time_axis = 2}});
  return models;
}

std::vector<Honest> composed() {
  const AttentionMask causal = AttentionMask::causal();
  const Tensor cap = tensor({2.0});
  std::vector<Honest> models;
  models.push_back({"causal, composite", unfused(attend(causal)), sequence()});
  models.push_back(
      {"grouped heads, composite", unfused(attend(causal, {.num_heads = 4, .num_kv_heads = 1})), sequence()});
  models.push_back(
      {"learned softcap", bare({.mask = causal, .learned_softcap = cap}), heads(), {.time_axis = 2}});
  models.push_back({"textbook", textbook, heads(), {.time_axis = 2}});
  models.push_back({"textbook, f32", textbook, heads(DType::f32), {.time_axis = 2}});
  models.push_back({.name = "the seed's own code", .model = seed_attention, .x = sequence(), .warns = true});
  models.push_back({.name = "closed logits of -inf",
                    .model =
                        [](const Tensor& x) {
                          return matmul(causal_weights(x, -std::numeric_limits<double>::infinity()), x);
                        },
                    .x = sequence(),
                    .warns = true});
  models.push_back({.name = "einsum", .model = einsum_attention, .x = sequence(), .warns = true});
  return models;
}

std::vector<Honest> with_lengths() {
  const AttentionMask keys = AttentionMask::key_lengths(lengths());
  const AttentionMask packed = AttentionMask::documents(documents());
  std::vector<Honest> models;
  models.push_back(
      {.name = "key lengths", .model = attend(keys), .x = sequence(), .causal = false, .lengths = lengths()});
  models.push_back({.name = "key lengths, composite",
                    .model = unfused(attend(keys)),
                    .x = sequence(),
                    .causal = false,
                    .lengths = lengths()});
  models.push_back({.name = "documents",
                    .model = attend(packed),
                    .x = sequence(),
                    .causal = false,
                    .documents = documents()});
  models.push_back({.name = "documents, composite",
                    .model = unfused(attend(packed & AttentionMask::causal())),
                    .x = sequence(),
                    .documents = documents()});
  return models;
}

std::vector<Honest> layers() {
  Generator generator(1);
  const auto block = std::make_shared<nn::TransformerBlock>(
      nn::TransformerBlockOptions{.attention = {.embed_dim = width, .num_heads = 2, .dropout = 0.3},
                                  .dropout = 0.3},
      generator);
  block->to(DType::f64);
  const SequenceModel of_block = [block](const Tensor& x) {
    Generator draws(3);
    return (*block)(x, AttentionMask::causal(), &draws);
  };
  const auto decoder = std::make_shared<nn::TransformerDecoderLayer>(
      nn::TransformerLayerOptions{.d_model = width, .nhead = 2, .dim_feedforward = 16, .dropout = 0},
      generator);
  decoder->to(DType::f64);
  const auto cross = attention_module();
  const Tensor memory = randn({samples, 9, width}, generator, DType::f64);
  std::vector<Honest> models;
  models.push_back({"block with dropout", of_block, sequence()});
  models.push_back({"block, composite", unfused(of_block), sequence()});
  models.push_back(
      {"block in a checkpoint", [=](const Tensor& x) { return checkpoint(of_block, x); }, sequence()});
  models.push_back({"decoder over a memory",
                    [=](const Tensor& x) { return (*decoder)(x, memory, AttentionMask::causal()); },
                    sequence()});
  models.push_back(
      {"cross-attention", [=](const Tensor& x) { return (*cross)(x, memory, memory); }, sequence()});
  // An encoder of one half of the channels, without a mask, would be a leak: its memory is another sequence.
  models.push_back({"encoder and decoder",
                    [=](const Tensor& x) {
                      const Tensor encoded = (*cross)(memory);
                      return (*decoder)(x, encoded, AttentionMask::causal());
                    },
                    sequence()});
  return models;
}

}  // namespace

std::vector<Honest> honest_attention() {
  std::vector<Honest> all;
  for (auto part : {fused(), composed(), with_lengths(), layers()}) {
    for (Honest& model : part) all.push_back(std::move(model));
  }
  return all;
}

}  // namespace heed::test::zoo
