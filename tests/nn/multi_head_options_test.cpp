// Every option of MultiHeadAttention against the layer written out in loops, and its gradients.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/clone.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/concat.h>
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
using heed::nn::NormKind;
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
      {"qk-norm rms", {.embed_dim = 8, .num_heads = 2, .rope = half, .qk_norm = NormKind::rms}},
      {"qk-norm layer",
       {.embed_dim = 6, .num_heads = 2, .qk_norm = NormKind::layer, .qk_norm_epsilon = 1e-3}},
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
        .qk_norm = NormKind::rms,
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

TEST_CASE("causal self-attention of padded samples counts from the first token", "[report-23][report-29]") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const MultiHeadAttention layer = random_layer(variant.options);
    if (!layer.qkv.packed()) continue;
    const Tensor x = random_input({2, 5, layer.options().embed_dim}, 1);
    const AttentionMask lengths = AttentionMask::key_lengths(heed::tensor<std::int64_t>({5, 3}));
    const auto open = [](std::int64_t b, std::int64_t i, std::int64_t j) {
      return j <= i && (b == 0 || j < 3);
    };
    check_close(layer(x, AttentionMask::causal() & lengths), plain_attention(layer, x, x, x, open));
  }
}

TEST_CASE("a layer's state loads into another of the same options") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const MultiHeadAttention source = random_layer(variant.options);
    const auto& o = source.options();
    Generator generator(8);
    MultiHeadAttention target(variant.options, generator);
    target.to(DType::f64);
    target.load_state_dict(source.state_dict());
    const Tensor x = random_input({1, 3, o.embed_dim}, 1);
    const Tensor key = random_input({1, 3, o.kdim}, 2);
    const Tensor value = random_input({1, 3, o.vdim}, 3);
    const auto want = source(x, key, value).to_vector<double>();
    CHECK(target(x, key, value).to_vector<double>() == want);
    CHECK(clone(source)(x, key, value).to_vector<double>() == want);
  }
}

TEST_CASE("parameters keep their names, and options add theirs") {
  const auto names = [](const MultiHeadAttentionOptions& options) {
    std::string joined;
    for (const auto& named : random_layer(options).named_parameters()) joined += named.first + " ";
    return joined;
  };
  CHECK(names({.embed_dim = 4, .num_heads = 2}) == "qkv.weight qkv.bias out.weight out.bias ");
  CHECK(names({.embed_dim = 4, .num_heads = 2, .bias = false, .kdim = 3}) ==
        "qkv.q_weight qkv.k_weight qkv.v_weight out.weight ");
  CHECK(
      names(
          {.embed_dim = 4, .num_heads = 2, .qk_norm = NormKind::layer, .sink = true, .add_bias_kv = true}) ==
      "qkv.weight qkv.bias bias_k bias_v q_norm.weight q_norm.bias k_norm.weight k_norm.bias sink out.weight "
      "out.bias ");
  const MultiHeadAttention grouped =
      random_layer({.embed_dim = 6, .num_heads = 4, .num_kv_heads = 2, .head_dim = 5});
  CHECK(grouped.qkv.weight.shape() == heed::Shape{20 + 2 * 10, 6});
  CHECK(grouped.out.weight.shape() == heed::Shape{6, 20});
}

TEST_CASE("one key head is that head written down for each query head", "[report-28]") {
  // Three query heads over one key head, and the same with the key head written down three times.
  const MultiHeadAttention shared = random_layer({.embed_dim = 6, .num_heads = 3, .num_kv_heads = 1});
  const Tensor w = shared.qkv.weight.detach();
  const Tensor b = shared.qkv.bias.detach();
  const auto thrice = [](const Tensor& x) {
    const Tensor k = heed::narrow(x, 0, 6, 2);
    const Tensor v = heed::narrow(x, 0, 8, 2);
    return heed::concat({heed::narrow(x, 0, 0, 6), k, k, k, v, v, v}, 0);
  };
  Generator generator;
  MultiHeadAttention full({.embed_dim = 6, .num_heads = 3}, generator);
  full.to(DType::f64);
  full.load_state_dict({{"qkv.weight", thrice(w)},
                        {"qkv.bias", thrice(b)},
                        {"out.weight", shared.out.weight.detach()},
                        {"out.bias", shared.out.bias.detach()}});
  const Tensor x = random_input({2, 4, 6}, 5);
  check_close(shared(x, AttentionMask::causal()), full(x, AttentionMask::causal()).to_vector<double>());
}

TEST_CASE("dropout goes with every option and is off in evaluation", "[report-24]") {
  for (Variant variant : variants()) {
    CAPTURE(variant.name);
    variant.options.dropout = 0.5;
    MultiHeadAttention layer = random_layer(variant.options);
    const auto& o = layer.options();
    const Tensor x = random_input({2, 4, o.embed_dim}, 1);
    const Tensor key = random_input({2, 4, o.kdim}, 2);
    const Tensor value = random_input({2, 4, o.vdim}, 3);
    Generator generator(11);
    const auto trained = layer(x, key, value, {}, &generator).to_vector<double>();
    CHECK(layer(x, key, value, {}, &generator).to_vector<double>() != trained);
    generator.set_state({11, 0});
    CHECK(layer(x, key, value, {}, &generator).to_vector<double>() == trained);
    layer.eval();
    const auto all = [](auto, auto, auto) { return true; };
    check_close(layer(x, key, value), plain_attention(layer, x, key, value, all));
  }
}

TEST_CASE("options that do not fit are refused by name") {
  Generator generator;
  const auto message = [&](const MultiHeadAttentionOptions& options) -> std::string {
    try {
      const MultiHeadAttention layer(options, generator);
    } catch (const heed::ValueError& error) {
      return error.what();
    }
    return "no error";
  };
  using Options = MultiHeadAttentionOptions;
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 3, .num_kv_heads = 2}),
             Contains("num_kv_heads is 2") && Contains("a divisor of num_heads, which is 3"));
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 2, .num_kv_heads = -1}),
             Contains("num_kv_heads is -1"));
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 2, .head_dim = -1}), Contains("head_dim is -1"));
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 2, .kdim = -1}), Contains("kdim is -1"));
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 2, .vdim = -1}), Contains("vdim is -1"));
  CHECK_THAT(message(Options{.embed_dim = 6, .num_heads = 2, .rope = RopeOptions{}}),
             Contains("rotary is 3") && Contains("an even number up to head_dim, which is 3"));
  CHECK_THAT(message(Options{.embed_dim = 8, .num_heads = 2, .rope = RopeOptions{.rotary = 6}}),
             Contains("rotary is 6") && Contains("which is 4"));
  CHECK_THAT(message(Options{.embed_dim = 8, .num_heads = 2, .rope = RopeOptions{.base = 0}}),
             Contains("base > 0"));
  CHECK_THAT(
      message(Options{.embed_dim = 8, .num_heads = 2, .qk_norm = NormKind::rms, .qk_norm_epsilon = -1}),
      Contains("epsilon is -1"));
  CHECK_THAT(message(Options{.embed_dim = 8, .num_heads = 2, .window_left = -2}),
             Contains("window_left is -2"));
  CHECK_THAT(message(Options{.embed_dim = 8, .num_heads = 2, .window_right = -2}),
             Contains("window_right is -2"));
  CHECK_THAT(message(Options{.embed_dim = 8, .num_heads = 2, .softcap = -1}), Contains("softcap >= 0"));
}

TEST_CASE("inputs of the wrong width are refused by name", "[report-26]") {
  const MultiHeadAttention layer = random_layer({.embed_dim = 4, .num_heads = 2, .kdim = 3, .vdim = 5});
  const Tensor query = random_input({1, 2, 4}, 1);
  const Tensor key = random_input({1, 3, 3}, 2);
  const Tensor value = random_input({1, 3, 5}, 3);
  CHECK_THROWS_WITH(layer(query, query, value), Contains("key has the wrong width") && Contains("kdim, 3"));
  CHECK_THROWS_WITH(layer(query, key, key), Contains("value has the wrong width") && Contains("vdim, 5"));
  CHECK_THROWS_WITH(layer(query, key, random_input({1, 4, 5}, 3)), Contains("key and value lengths differ"));
  CHECK_THROWS_AS(layer(query), heed::ShapeError);
}
