// Every option of MultiHeadAttention against the layer written out in loops, and its gradients.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/slice.h>

#include "plain_attention.h"

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::RopeLayout;
using heed::RopeOptions;
using heed::Tensor;
using heed::nn::MultiHeadAttention;
using heed::nn::MultiHeadAttentionOptions;
using heed::nn::QkNorm;
using heed::test::plain_attention;

namespace {

struct Variant {
  std::string name;
  MultiHeadAttentionOptions options;
};

std::vector<Variant> variants() {
  const RopeOptions half{.layout = RopeLayout::half};
  const RopeOptions pairs{.layout = RopeLayout::interleaved, .base = 100, .rotary = 2};
  return {
      {"plain", {.embed_dim = 8, .num_heads = 2}},
      {"no bias", {.embed_dim = 8, .num_heads = 2, .bias = false}},
      {"bias of the output alone", {.embed_dim = 8, .num_heads = 2, .bias = false, .out_bias = true}},
      {"no bias of the output", {.embed_dim = 8, .num_heads = 2, .out_bias = false}},
      {"grouped heads", {.embed_dim = 8, .num_heads = 4, .num_kv_heads = 2}},
      {"one key head", {.embed_dim = 8, .num_heads = 4, .num_kv_heads = 1}},
      {"head_dim of its own", {.embed_dim = 5, .num_heads = 2, .num_kv_heads = 1, .head_dim = 4}},
      {"kdim", {.embed_dim = 6, .num_heads = 2, .num_kv_heads = 1, .kdim = 3}},
      {"kdim and vdim", {.embed_dim = 4, .num_heads = 2, .kdim = 3, .vdim = 5}},
      {"rope by halves", {.embed_dim = 8, .num_heads = 2, .rope = half}},
      {"rope in pairs, partial", {.embed_dim = 8, .num_heads = 2, .num_kv_heads = 1, .rope = pairs}},
      {"qk-norm rms", {.embed_dim = 8, .num_heads = 2, .rope = half, .qk_norm = QkNorm::rms}},
      {"qk-norm layer", {.embed_dim = 6, .num_heads = 2, .qk_norm = QkNorm::layer, .qk_norm_epsilon = 1e-3}},
      {"window", {.embed_dim = 4, .num_heads = 2, .window_left = 1, .window_right = 0}},
      {"window to the right", {.embed_dim = 4, .num_heads = 2, .window_right = 1}},
      {"scale", {.embed_dim = 4, .num_heads = 2, .scale = -0.3}},
      {"softcap", {.embed_dim = 4, .num_heads = 2, .softcap = 0.5}},
      {"sink", {.embed_dim = 4, .num_heads = 2, .num_kv_heads = 1, .sink = true}},
      {"extra trained key", {.embed_dim = 4, .num_heads = 2, .add_bias_kv = true}},
      {"extra zero key", {.embed_dim = 4, .num_heads = 2, .window_left = 1, .add_zero_attn = true}},
      {"all of it",
       {.embed_dim = 6,
        .num_heads = 4,
        .num_kv_heads = 2,
        .head_dim = 4,
        .rope = pairs,
        .qk_norm = QkNorm::rms,
        .window_left = 2,
        .scale = 0.7,
        .softcap = 2,
        .sink = true,
        .add_bias_kv = true,
        .add_zero_attn = true}},
  };
}

// Every parameter is random, those that start from a constant too.
MultiHeadAttention random_layer(const MultiHeadAttentionOptions& options) {
  Generator generator(7);
  MultiHeadAttention layer(options, generator);
  layer.to(DType::f64);
  const heed::NoGrad guard;
  for (auto& [path, parameter] : layer.named_parameters()) {
    parameter.copy_(heed::randn(parameter.shape(), generator, DType::f64, 0.0, 0.6));
  }
  return layer;
}

Tensor random_input(const heed::Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return heed::randn(shape, generator, DType::f64);
}

void check_close(const Tensor& got, const std::vector<double>& want) {
  const auto values = got.to_vector<double>();
  REQUIRE(values.size() == want.size());
  // Sums of a few dozen products in another order, through exp: thousands of roundings of 1e-16 at worst.
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(values[i] == Approx(want[i]).epsilon(0).margin(1e-12));
}

}  // namespace

TEST_CASE("every option of attention is the loops' number") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const MultiHeadAttention layer = random_layer(variant.options);
    const auto& o = layer.options();
    const Tensor x = random_input({2, 5, o.embed_dim}, 1);
    const Tensor key = random_input({2, 6, o.kdim}, 2);
    const Tensor value = random_input({2, 6, o.vdim}, 3);
    const auto all = [](auto, auto, auto) { return true; };
    const auto causal = [](auto, std::int64_t i, std::int64_t j) { return j <= i; };
    const auto causal_cross = [](auto, std::int64_t i, std::int64_t j) { return j <= i + 1; };
    if (layer.qkv.packed()) {
      check_close(layer(x), plain_attention(layer, x, x, x, all));
      check_close(layer(x, AttentionMask::causal()), plain_attention(layer, x, x, x, causal));
      check_close(layer(x, key, key), plain_attention(layer, x, key, key, all));
    }
    check_close(layer(x, key, value), plain_attention(layer, x, key, value, all));
    check_close(layer(x, key, value, AttentionMask::causal()),
                plain_attention(layer, x, key, value, causal_cross));
    const Tensor lengths = heed::tensor<std::int64_t>({6, 4});
    const auto padded = [](std::int64_t b, auto, std::int64_t j) { return b == 0 || j < 4; };
    check_close(layer(x, key, value, AttentionMask::key_lengths(lengths).query_start(1)),
                plain_attention(layer, x, key, value, padded));
  }
}

TEST_CASE("every option of attention has the gradients of difference quotients") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    MultiHeadAttention layer = random_layer(variant.options);
    const auto& o = layer.options();
    std::vector<Tensor> inputs = {random_input({1, 3, o.embed_dim}, 1).set_requires_grad(),
                                  random_input({1, 4, o.kdim}, 2).set_requires_grad(),
                                  random_input({1, 4, o.vdim}, 3).set_requires_grad()};
    for (const auto& named : layer.named_parameters()) inputs.push_back(named.second);
    // Without weights attention may take another path.
    for (const bool need_weights : {false, true}) {
      const auto function = [&](const std::vector<Tensor>& given) -> std::vector<Tensor> {
        layer.replace_parameters(std::span(given).subspan(3));
        const AttentionMask mask = AttentionMask::causal();
        if (!need_weights) return {layer(given[0], given[1], given[2], mask)};
        const auto result = layer.with_weights(given[0], given[1], given[2], mask);
        return {result.output, result.weights};
      };
      const auto result = heed::check::gradcheck(function, inputs, {.max_elements = 12});
      INFO(result.report());
      CHECK(result.passed);
      CHECK(result.checked > 30);
    }
  }
}
