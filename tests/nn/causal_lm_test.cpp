#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/clone.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::nn::CausalLM;

namespace {

CausalLM small_model(double dropout = 0, bool bias = true) {
  Generator generator(1);
  return CausalLM({.vocab_size = 11,
                   .context = 6,
                   .num_layers = 2,
                   .num_heads = 2,
                   .embed_dim = 8,
                   .dropout = dropout,
                   .bias = bias},
                  generator);
}

double deviation(const Tensor& x) {
  double squares = 0;
  for (const float value : x.to_vector<float>())
    squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(x.numel()));
}

}  // namespace

TEST_CASE("the model has nanoGPT's parameters and their start") {
  Generator generator(1);
  const CausalLM model(
      {.vocab_size = 65, .context = 64, .num_layers = 4, .num_heads = 4, .embed_dim = 128, .bias = false},
      generator);
  // tokens and positions, 4 blocks of 12 E² and two gains, the last gain
  CHECK(model.parameter_count() == 65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 2 * 128) + 128);
  for (const auto& [name, parameter] : model.named_parameters()) {
    CAPTURE(name);
    const bool ends_branch = name.ends_with("attention.out.weight") || name.ends_with("mlp.down.weight");
    const double expected = parameter.rank() == 1 ? 1.0 : ends_branch ? 0.02 / std::sqrt(8.0) : 0.02;
    // The smallest matrix has 8192 elements, whose deviation is known to 0.8 %; four times that.
    CHECK(deviation(parameter) == Approx(expected).epsilon(0.032));
  }
}

TEST_CASE("biases start at zero") {
  const CausalLM model = small_model();
  int biases = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (!name.ends_with("bias")) continue;
    ++biases;
    CHECK(deviation(parameter) == 0);
  }
  CHECK(biases == 2 * 6 + 1);  // two norms and four layers in each block, and the last norm
}

TEST_CASE("logits depend on no later token") {
  const CausalLM model = small_model();
  const heed::NoGrad guard;
  const auto logits = [&](std::initializer_list<std::int64_t> tokens) {
    return model(heed::tensor<std::int64_t>(tokens)).to_vector<float>();
  };
  const auto a = logits({1, 2, 3, 4, 5});
  const auto b = logits({1, 2, 3, 9, 5});
  REQUIRE(a.size() == 5 * 11);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK((a[i] == b[i]) == (i < 3 * 11));
  }
}

TEST_CASE("a batch is its sequences, and the loss their mean") {
  const CausalLM model = small_model();
  const heed::NoGrad guard;
  const Tensor both = heed::tensor<std::int64_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto logits = model(both);
  CHECK(logits.shape() == heed::Shape{2, 3, 11});
  const auto second = model(heed::tensor<std::int64_t>({4, 5, 6})).to_vector<float>();
  const auto all = logits.to_vector<float>();
  for (std::size_t i = 0; i < second.size(); ++i) CHECK(second[i] == Approx(all[33 + i]).margin(1e-6));
  const Tensor targets = heed::tensor<std::int64_t>({2, 3, 9, 5, 6, 0}, {2, 3});
  double expected = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 11; ++c) sum += std::exp(static_cast<double>(all[11 * i + c]));
    const auto target = static_cast<std::size_t>(targets.to_vector<std::int64_t>()[i]);
    expected += (std::log(sum) - static_cast<double>(all[11 * i + target])) / 6;
  }
  CHECK(model.loss(both, targets).item<float>() == Approx(expected).epsilon(1e-6));
  CHECK_THROWS_AS(model.loss(both, heed::tensor<std::int64_t>({1, 2, 3})), heed::ShapeError);
}

TEST_CASE("attention weights of every block are causal distributions") {
  const CausalLM model = small_model();
  const heed::NoGrad guard;
  const auto maps = model.attention_weights(heed::tensor<std::int64_t>({1, 2, 3}));
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].shape() == heed::Shape{2, 3, 3});
  const auto weights = maps[1].to_vector<float>();
  CHECK(weights[0] == 1.0f);
  CHECK(weights[1] == 0.0f);
  CHECK(weights[6] + weights[7] + weights[8] == Approx(1.0));
}

TEST_CASE("a model in training mode drops out, in evaluation it does not") {
  CausalLM model = small_model(0.3);
  const heed::NoGrad guard;
  const Tensor tokens = heed::tensor<std::int64_t>({1, 2, 3});
  Generator generator(4);
  CHECK(model(tokens, &generator).to_vector<float>() != model(tokens, &generator).to_vector<float>());
  CHECK_THROWS_WITH(model(tokens), Contains("no generator was given"));
  model.eval();
  CHECK(model(tokens).to_vector<float>() == small_model()(tokens).to_vector<float>());
}

TEST_CASE("a clone is a model of its own") {
  const CausalLM model = small_model();
  CausalLM copy = clone(model);
  const heed::NoGrad guard;
  const Tensor tokens = heed::tensor<std::int64_t>({1, 2, 3});
  const auto before = model(tokens).to_vector<float>();
  CHECK(copy(tokens).to_vector<float>() == before);
  copy.token.weight.fill_(0);
  CHECK(model(tokens).to_vector<float>() == before);
}

TEST_CASE("the same options make a Llama") {
  const heed::nn::CausalLMOptions options = {.vocab_size = 11,
                                             .context = 6,
                                             .num_layers = 2,
                                             .num_heads = 4,
                                             .embed_dim = 16,
                                             .bias = false,
                                             .num_kv_heads = 2,
                                             .hidden_dim = 24,
                                             .rope = heed::RopeOptions{},
                                             .activation = heed::nn::Activation::silu,
                                             .gated = true,
                                             .norm = heed::nn::NormKind::rms,
                                             .norm_epsilon = 1e-6,
                                             .tied = false};
  Generator generator(1);
  const CausalLM model(options, generator);
  // In each block q and out [16, 16], k and v [8, 16], three matrices of 24 · 16, two gains; no positions.
  CHECK(model.parameter_count() == 2 * 11 * 16 + 2 * (2 * 256 + 2 * 128 + 3 * 24 * 16 + 2 * 16) + 16);
  CHECK_FALSE(model.position);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (!name.starts_with("blocks.1")) names.push_back(name);
  }
  CHECK(names == std::vector<std::string>{
                     "token.weight", "blocks.0.norm1.weight", "blocks.0.attention.qkv.weight",
                     "blocks.0.attention.out.weight", "blocks.0.norm2.weight", "blocks.0.mlp.up.weight",
                     "blocks.0.mlp.gate.weight", "blocks.0.mlp.down.weight", "norm.weight", "head.weight"});
  const heed::NoGrad guard;
  const Tensor tokens = heed::tensor<std::int64_t>({1, 2, 1, 2});
  const auto logits = model(tokens).to_vector<float>();
  CHECK(logits.size() == 44);
  CHECK(clone(model)(tokens).to_vector<float>() == logits);
  auto with_eps = options;
  with_eps.norm_epsilon = 1e-2;
  Generator again(1);
  CHECK(CausalLM(with_eps, again)(tokens).to_vector<float>() != logits);
}

TEST_CASE("CausalLM refuses what does not fit") {
  const CausalLM model = small_model();
  CHECK_THROWS_WITH(model(heed::zeros({7}, heed::DType::i64)), Contains("longer than the context"));
  CHECK_THROWS_AS(model(heed::tensor<std::int64_t>({11})), heed::IndexError);
  CHECK_THROWS_AS(model(heed::tensor<std::int64_t>({-1})), heed::IndexError);
  CHECK_THROWS_AS(model(heed::zeros({3})), heed::DTypeError);
  CHECK_THROWS_AS(model(heed::zeros({1, 1, 3}, heed::DType::i64)), heed::ShapeError);
  Generator generator;
  CHECK_THROWS_AS(CausalLM({.context = 4, .num_layers = 1, .num_heads = 1, .embed_dim = 4}, generator),
                  heed::ValueError);
  CHECK_THROWS_AS(CausalLM({.vocab_size = 4, .num_layers = 1, .num_heads = 1, .embed_dim = 4}, generator),
                  heed::ValueError);
  CHECK_THROWS_AS(CausalLM({.vocab_size = 4, .context = 4, .num_heads = 1, .embed_dim = 4}, generator),
                  heed::ValueError);
}
