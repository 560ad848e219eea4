// Clones, and modules that are built without drawing.

#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/draw_log.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/clone.h>
#include <heed/nn/norm.h>
#include <heed/nn/transformer_layers.h>

using Catch::Contains;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::Buffer;
using heed::nn::CausalLM;
using heed::nn::InitialElements;
using heed::nn::Linear;
using heed::nn::SkipInit;

namespace {

constexpr heed::nn::CausalLMOptions small = {
    .vocab_size = 7, .context = 5, .num_layers = 2, .num_heads = 2, .embed_dim = 4};

// Tells how far its constructor moved the generator.
class Counting final : public heed::nn::Module {
 public:
  explicit Counting(Generator& generator)
      : Module("Counting"),
        layer({.d_model = 4, .nhead = 2, .dim_feedforward = 8}, generator),
        model(small, generator),
        mean(heed::zeros({4})),
        drawn(generator.state().offset) {
    model.token.weight = heed::nn::normal_parameter({7, 4}, generator);
    drawn = generator.state().offset;
    head = model.token.weight;
  }

  heed::nn::TransformerEncoderLayer layer;
  CausalLM model;
  Tensor head;
  Buffer mean;
  std::uint64_t drawn;

 protected:
  HEED_MEMBERS(layer, model, head, mean)
};

}  // namespace

TEST_CASE("a clone draws nothing and is a module of its own") {
  Generator generator(1);
  Counting original(generator);
  CHECK(original.drawn > 10);
  {
    const heed::NoGrad guard;
    original.mean.fill_(3);
  }
  heed::DrawLog draws;
  const Counting copy = [&] {
    const heed::RecordDraws record(draws);
    return clone(original);
  }();
  CHECK(draws.empty());
  CHECK(copy.drawn == 0);
  const auto theirs = original.state_dict();
  const auto own = copy.state_dict();
  REQUIRE(own.size() == theirs.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    CAPTURE(own[i].first);
    CHECK(own[i].first == theirs[i].first);
    CHECK(own[i].second.to_vector<float>() == theirs[i].second.to_vector<float>());
    CHECK(own[i].second.storage().get() != theirs[i].second.storage().get());
  }
  CHECK(copy.mean.to_vector<float>() == std::vector<float>(4, 3.f));
  CHECK(copy.head.impl() == copy.model.token.weight.impl());
}

TEST_CASE("a clone keeps frozen parameters frozen, modes, dtypes and names") {
  Generator generator(1);
  CausalLM model(small, generator);
  model.token.weight.set_requires_grad(false);
  model.blocks[1].mlp.up.bias.set_requires_grad(false);
  model.blocks[0].eval();
  model.to(DType::f64);
  const CausalLM copy = clone(model);
  CHECK_FALSE(copy.token.weight.requires_grad());
  CHECK_FALSE(copy.blocks[1].mlp.up.bias.requires_grad());
  CHECK(copy.blocks[1].mlp.up.weight.requires_grad());
  CHECK(copy.training());
  CHECK_FALSE(copy.blocks[0].attention.training());
  CHECK(copy.blocks[1].attention.training());
  CHECK(copy.norm.weight.dtype() == DType::f64);
  CHECK(clone(copy.blocks[0]).name() == "blocks.0");
}

TEST_CASE("a clone of other members than the options make is refused") {
  Generator generator(1);
  CausalLM model(small, generator);
  model.blocks.pop_back();
  CHECK_THROWS_WITH(clone(model), Contains("CausalLM has other members than its options make"));
}

TEST_CASE("a tensor that was taken away or added is so in the clone") {
  Generator generator(1);
  Linear layer({.in = 2, .out = 2}, generator);
  layer.bias = {};
  CHECK(clone(layer).named_parameters().size() == 1);
  Linear bare({.in = 2, .out = 2, .bias = false}, generator);
  bare.bias = heed::tensor({1.f, 2.f}).set_requires_grad();
  CHECK(clone(bare).bias.to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("without initial elements nothing is drawn, written or, if asked, allocated") {
  Generator generator(1);
  {
    const SkipInit guard;
    Linear layer({.in = 3, .out = 2}, generator);
    CHECK(layer.weight.requires_grad());
    CHECK(layer.weight.shape() == heed::Shape{2, 3});
    const heed::NoGrad no_grad;
    layer.weight.fill_(1);
    heed::nn::reset_normal(layer.weight, generator, 1.0);
    heed::nn::reset_constant(layer.weight, 0);
    CHECK(layer.weight.to_vector<float>() == std::vector<float>(6, 1.f));
    {
      const SkipInit inner(InitialElements::none);
      const Tensor large = heed::nn::constant_parameter({1 << 30, 1 << 30}, 1);
      CHECK(large.numel() == std::int64_t{1} << 60);
      CHECK_THROWS_AS(Tensor(large).fill_(1), heed::ValueError);
    }
    CHECK(heed::nn::uniform_parameter({2}, generator, 1.0).is_contiguous());
  }
  CHECK(generator.state().offset == 0);
  CHECK(heed::nn::constant_parameter({2}, 1).to_vector<float>() == std::vector<float>{1, 1});
  const auto norm = heed::nn::without_init<heed::nn::LayerNorm>(
      heed::nn::NormOptions{.normalized_shape = {8}}, InitialElements::none);
  CHECK(norm.weight.shape() == heed::Shape{8});
  CHECK(norm.weight.strides()[0] == 0);
}
