// Options that were left out, filled in one place.

#include <string>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/clone.h>

using Catch::Contains;
using heed::Generator;
using heed::RopeOptions;
using heed::Shape;
using heed::nn::CausalLM;
using heed::nn::CausalLMOptions;
using heed::nn::MultiHeadAttentionOptions;
using heed::nn::NormKind;
using heed::nn::TransformerBlock;
using heed::nn::TransformerBlockOptions;

TEST_CASE("attention's sizes follow from embed_dim and num_heads, and what is given stays") {
  const auto all = resolved(MultiHeadAttentionOptions{.embed_dim = 8, .num_heads = 4, .rope = RopeOptions{}});
  CHECK(all.num_kv_heads == 4);
  CHECK(all.head_dim == 2);
  CHECK(all.kdim == 8);
  CHECK(all.vdim == 8);
  CHECK(all.rope->rotary == 2);
  const auto given = resolved(MultiHeadAttentionOptions{.embed_dim = 8,
                                                        .num_heads = 4,
                                                        .num_kv_heads = 2,
                                                        .head_dim = 6,
                                                        .kdim = 3,
                                                        .vdim = 5,
                                                        .rope = RopeOptions{.rotary = 4}});
  CHECK(given.num_kv_heads == 2);
  CHECK(given.head_dim == 6);
  CHECK(given.kdim == 3);
  CHECK(given.vdim == 5);
  CHECK(given.rope->rotary == 4);
}

TEST_CASE("a norm's epsilon follows from its kind") {
  const heed::nn::NormOptions plain = {.normalized_shape = {4}};
  CHECK(heed::nn::Norm(plain).options().epsilon == 1e-5);
  CHECK(heed::nn::LayerNorm(plain).options().kind == NormKind::layer);
  CHECK(heed::nn::RMSNorm(plain).options().kind == NormKind::rms);
  CHECK(heed::nn::RMSNorm(plain).options().epsilon == 1e-6);
  CHECK(heed::nn::RMSNorm({.normalized_shape = {4}, .epsilon = 0.5}).options().epsilon == 0.5);
  CHECK(clone(heed::nn::RMSNorm(plain)).options().kind == NormKind::rms);
  CHECK(heed::nn::RMSNorm(plain).name() == "RMSNorm");
  CHECK(heed::nn::Norm(plain).name() == "LayerNorm");
}

TEST_CASE("a block's parts take the width of its attention") {
  const TransformerBlockOptions options =
      resolved(TransformerBlockOptions{.attention = {.embed_dim = 8, .num_heads = 4}});
  CHECK(options.attention.head_dim == 2);
  CHECK(options.mlp.dim == 8);
  CHECK(options.mlp.hidden == 32);
  CHECK(options.norm.normalized_shape == Shape{8});
  Generator generator(1);
  const TransformerBlock block({.attention = {.embed_dim = 8, .num_heads = 4, .bias = false},
                                .mlp = {.hidden = 5, .gated = true},
                                .norm = {.kind = NormKind::rms, .epsilon = 0.25}},
                               generator);
  CHECK_FALSE(block.attention.out.bias.defined());
  CHECK(block.mlp.up.bias.shape() == Shape{5});
  CHECK(block.mlp.gate);
  CHECK_FALSE(block.norm2.bias.defined());
  CHECK(block.norm1.options().epsilon == 0.25);
  CHECK_THROWS_WITH(
      TransformerBlock({.attention = {.embed_dim = 8, .num_heads = 4}, .mlp = {.dim = 4}}, generator),
      Contains("mlp.dim is 4") && Contains("attention.embed_dim, 8"));
  CHECK_THROWS_WITH(
      TransformerBlock({.attention = {.embed_dim = 8, .num_heads = 4}, .norm = {.normalized_shape = {2, 4}}},
                       generator),
      Contains("norm.normalized_shape does not fit") && Contains("attention.embed_dim, 8"));
}

TEST_CASE("a language model hands its options to every block, and keeps them as given") {
  const CausalLMOptions options = {.vocab_size = 7,
                                   .context = 5,
                                   .num_layers = 1,
                                   .num_heads = 4,
                                   .embed_dim = 8,
                                   .dropout = 0.25,
                                   .bias = false,
                                   .num_kv_heads = 2,
                                   .rope = RopeOptions{.base = 50},
                                   .activation = heed::nn::Activation::silu,
                                   .gated = true,
                                   .norm = NormKind::rms,
                                   .norm_epsilon = 0.5};
  Generator generator(1);
  const CausalLM model(options, generator);
  CHECK(model.options().head_dim == 0);
  const TransformerBlockOptions& block = model.blocks[0].options();
  CHECK(block.dropout == 0.25);
  CHECK(block.attention.dropout == 0.25);
  CHECK_FALSE(block.attention.bias);
  CHECK(block.attention.num_kv_heads == 2);
  CHECK(block.attention.rope->base == 50);
  CHECK(block.mlp.activation == heed::nn::Activation::silu);
  CHECK(block.mlp.gated);
  CHECK_FALSE(block.mlp.bias);
  CHECK(block.norm.kind == NormKind::rms);
  CHECK(block.norm.epsilon == 0.5);
  CHECK(model.norm.options().epsilon == 0.5);
  const CausalLMOptions filled = heed::nn::resolved(options);
  CHECK(filled.num_kv_heads == 2);
  CHECK(filled.head_dim == 2);
  CHECK(filled.hidden_dim == 32);
  CHECK(filled.rope->rotary == 2);
  CHECK_THROWS_WITH(heed::nn::resolved(CausalLMOptions{.vocab_size = 7, .context = 5}),
                    Contains("num_layers is 0"));
}
