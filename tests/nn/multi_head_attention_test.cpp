#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::MultiHeadAttention;

namespace {

using Values = std::vector<double>;

void check_close(const Values& got, const Values& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(tolerance));
}

// Every projection is the identity.
MultiHeadAttention identity(std::int64_t dim, std::int64_t heads) {
  Generator generator;
  MultiHeadAttention layer({.embed_dim = dim, .num_heads = heads, .bias = false}, generator);
  layer.to(DType::f64);
  Tensor packed = heed::zeros({3 * dim, dim}, DType::f64);
  for (std::int64_t part = 0; part < 3; ++part) {
    heed::narrow(packed, 0, part * dim, dim).copy_(heed::eye(dim, DType::f64));
  }
  layer.load_state_dict({{"qkv.weight", packed}, {"out.weight", heed::eye(dim, DType::f64)}});
  return layer;
}

MultiHeadAttention random_layer(double dropout = 0) {
  Generator generator(7);
  MultiHeadAttention layer({.embed_dim = 6, .num_heads = 3, .dropout = dropout}, generator);
  layer.to(DType::f64);
  return layer;
}

Tensor random_input(const heed::Shape& shape, std::uint64_t seed = 3) {
  Generator generator(seed);
  return heed::randn(shape, generator, DType::f64);
}

// Gradients of Σ ⟨cotangent, layer(x)⟩: of x, then of every parameter.
std::vector<Values> gradients(const MultiHeadAttention& layer, const Tensor& input, const AttentionMask& mask,
                              const Tensor& cotangent) {
  Tensor x = heed::copy_of(input).set_requires_grad();
  std::vector<Tensor> inputs = {x};
  for (const auto& named : layer.named_parameters()) inputs.push_back(named.second);
  const Tensor y = layer(x, mask);
  std::vector<Values> result;
  for (const Tensor& g : heed::grad(std::span(&y, 1), inputs, {.grad_outputs = {cotangent}})) {
    result.push_back(g.to_vector<double>());
  }
  return result;
}

}  // namespace

TEST_CASE("heads are merged token by token", "[report-28]") {
  const MultiHeadAttention layer = identity(4, 2);
  // head 0 = [[1,2],[3,4]], head 1 = [[5,6],[7,8]]
  const Tensor x = heed::tensor({1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0}, {1, 2, 4});
  const Tensor itself = heed::tensor({true, false, false, true}, {2, 2});
  check_close(layer(x, AttentionMask::attend(itself)).to_vector<double>(), x.to_vector<double>(), 1e-15);
  // Head 0 attends itself, head 1 the first token: only a right merge keeps the heads apart.
  const Tensor by_head = heed::tensor({true, false, false, true, true, false, true, false}, {1, 2, 2, 2});
  check_close(layer(x, AttentionMask::attend(by_head)).to_vector<double>(), {1, 2, 5, 6, 3, 4, 5, 6}, 1e-15);
}

TEST_CASE("samples and tokens do not mix", "[report-28]") {
  const MultiHeadAttention layer = random_layer();
  const Tensor x = random_input({2, 4, 6});
  const Tensor y = layer(x);
  for (std::int64_t b = 0; b < 2; ++b) {
    // The product is cut in other panels for another batch, so the last bits may differ.
    check_close(layer(heed::narrow(x, 0, b, 1)).to_vector<double>(),
                heed::narrow(y, 0, b, 1).to_vector<double>(), 1e-14);
  }
  const Tensor reversed = heed::slice(x, 1, std::nullopt, std::nullopt, -1);
  check_close(layer(reversed).to_vector<double>(),
              heed::slice(y, 1, std::nullopt, std::nullopt, -1).to_vector<double>(), 1e-14);
  const Tensor unbatched = heed::select(x, 0, 1);
  check_close(layer(unbatched).to_vector<double>(), heed::select(y, 0, 1).to_vector<double>(), 1e-14);
}

TEST_CASE("a change behind the causal mask reaches nothing before it", "[report-28]") {
  const MultiHeadAttention layer = random_layer();
  Tensor x = random_input({2, 4, 6});
  const Values before = layer(x, AttentionMask::causal()).to_vector<double>();
  heed::select(heed::select(x, 0, 1), 0, 2).fill_(5);  // token 2 of sample 1
  const Values after = layer(x, AttentionMask::causal()).to_vector<double>();
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(i);
    CHECK((after[i] == before[i]) == (i < 36));  // 6 tokens of 6 numbers come before it
  }
}

TEST_CASE("a dead row does not poison the weights", "[report-21]") {
  MultiHeadAttention layer = identity(1, 1);
  Tensor x = heed::tensor({.5, 1.0, 2.0, .3, .7, 1.1}, {2, 3, 1}).set_requires_grad();
  const Tensor window = heed::tensor({true, false, false, true, true, false, false, true, true}, {3, 3});
  const Tensor lengths = heed::tensor<std::int64_t>({3, 1});
  const Tensor valid = heed::tensor({true, true, true, true, false, false}, {2, 1, 1, 3});
  for (const AttentionMask& padding : {AttentionMask::key_lengths(lengths), AttentionMask::attend(valid)}) {
    layer.zero_grad();
    x.zero_grad();
    const Tensor y = layer(x, AttentionMask::attend(window) & padding);
    const Tensor used = heed::tensor({1.0, 1.0, 0.0, 1.0, 1.0, 0.0}, {2, 3, 1});
    // Expected numbers are given to seven decimals.
    check_close(y.to_vector<double>(), {.5, .8112297, 1.8807971, .3, .3, 0}, 6e-8);
    heed::backward(heed::sum(y * used));
    check_close(layer.qkv.weight.grad().to_vector<double>(), {.0587509, .0587509, 1.9112297}, 6e-8);
    check_close(x.grad().to_vector<double>(), {1.2600388, .7987121, 0, 2, 0, 0}, 6e-8);
  }
}

TEST_CASE("each sample has its own mask under several heads", "[report-29]") {
  const MultiHeadAttention layer = random_layer();
  const Tensor x = random_input({2, 4, 6});
  const Tensor valid = heed::tensor({true, true, true, true, true, true, false, false}, {2, 1, 1, 4});
  const Tensor alone = heed::narrow(heed::narrow(x, 0, 1, 1), 1, 0, 2);
  const Tensor cotangent = random_input({1, 2, 6}, 9);
  Tensor padded_cotangent = heed::zeros({2, 4, 6}, DType::f64);
  heed::narrow(heed::narrow(padded_cotangent, 0, 1, 1), 1, 0, 2).copy_(cotangent);

  const AttentionMask mask = AttentionMask::attend(valid);
  const auto together = layer.with_weights(x, x, x, mask);
  check_close(heed::narrow(heed::narrow(together.output, 0, 1, 1), 1, 0, 2).to_vector<double>(),
              layer(alone).to_vector<double>(), 1e-12);
  CHECK(together.weights.shape() == heed::Shape{2, 3, 4, 4});
  for (const double weight :
       heed::narrow(heed::select(together.weights, 0, 1), 2, 2, 2).to_vector<double>()) {
    CHECK(weight == 0);
  }
  const auto padded = gradients(layer, x, mask, padded_cotangent);
  const auto trimmed = gradients(layer, alone, {}, cotangent);
  for (std::size_t i = 1; i < padded.size(); ++i) check_close(padded[i], trimmed[i], 1e-12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(padded[0][24 + i] == Approx(trimmed[0][i]).margin(1e-12));
  for (std::size_t i = 0; i < 48; ++i) {
    if (i < 24 || i >= 36) CHECK(padded[0][i] == 0);
  }
}

TEST_CASE("cross-attention reads keys and values of another length") {
  const MultiHeadAttention layer = random_layer();
  const Tensor query = random_input({2, 3, 6});
  const Tensor memory = random_input({2, 5, 6}, 4);
  const auto result = layer.with_weights(query, memory, memory);
  CHECK(result.output.shape() == heed::Shape{2, 3, 6});
  CHECK(result.weights.shape() == heed::Shape{2, 3, 3, 5});
  check_close(layer(query, memory, memory).to_vector<double>(), result.output.to_vector<double>(), 1e-14);
  // The packed product and three products are the same map.
  check_close(layer(query, heed::copy_of(query), heed::copy_of(query)).to_vector<double>(),
              layer(query).to_vector<double>(), 1e-14);
}

TEST_CASE("an additive mask is added to the logits") {
  const MultiHeadAttention layer = random_layer();
  const Tensor x = random_input({1, 3, 6});
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor closed = heed::tensor({0.0, -inf, -inf, 0.0, 0.0, -inf, 0.0, 0.0, 0.0}, {3, 3});
  check_close(layer(x, AttentionMask::bias(closed)).to_vector<double>(),
              layer(x, AttentionMask::causal()).to_vector<double>(), 1e-14);
}

TEST_CASE("attention dropout is off in evaluation", "[report-24]") {
  MultiHeadAttention layer = random_layer(0.5);
  const MultiHeadAttention plain = random_layer();
  const Tensor x = random_input({2, 4, 6});
  Generator generator(11);
  const Values trained = layer(x, {}, &generator).to_vector<double>();
  CHECK(layer(x, {}, &generator).to_vector<double>() != trained);
  generator.set_state({11, 0});
  CHECK(layer(x, {}, &generator).to_vector<double>() == trained);
  CHECK_THROWS_WITH(layer(x), Contains("no generator was given"));
  layer.eval();
  CHECK(layer(x).to_vector<double>() == layer(x).to_vector<double>());
  CHECK(layer(x).to_vector<double>() == plain(x).to_vector<double>());
}

TEST_CASE("dropout of all weights gives zeros and zero gradients", "[report-24]") {
  MultiHeadAttention layer = random_layer(1.0);
  Tensor x = random_input({1, 3, 6}).set_requires_grad();
  Generator generator(1);
  const Tensor y = layer(x, {}, &generator);
  const auto bias = layer.out.bias.to_vector<double>();
  const auto values = y.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == bias[i % 6]);
  heed::backward(y, {.cotangent = random_input({1, 3, 6}, 5)});
  CHECK(x.grad().to_vector<double>() == Values(18, 0.0));
  CHECK(layer.qkv.weight.grad().to_vector<double>() == Values(108, 0.0));
}

TEST_CASE("MultiHeadAttention refuses what does not fit") {
  Generator generator;
  const auto make = [&](std::int64_t dim, std::int64_t heads, double p) {
    return MultiHeadAttention({.embed_dim = dim, .num_heads = heads, .dropout = p}, generator);
  };
  CHECK_THROWS_WITH(make(6, 4, 0), Contains("a multiple of num_heads, which is 4"));
  CHECK_THROWS_AS(make(0, 1, 0), heed::ValueError);
  CHECK_THROWS_AS(make(6, 0, 0), heed::ValueError);
  CHECK_THROWS_AS(make(6, 2, 1.5), heed::ValueError);
  const MultiHeadAttention layer = random_layer();
  CHECK_THROWS_WITH(layer(random_input({2, 4, 5})), Contains("query") && Contains("embed_dim, 6"));
  CHECK_THROWS_AS(layer(random_input({6})), heed::ShapeError);
  const Tensor query = random_input({1, 2, 6});
  CHECK_THROWS_AS(layer(query, random_input({1, 3, 6}), random_input({1, 4, 6})), heed::ShapeError);
}

TEST_CASE("attention's parameters start with the spread that their widths ask for") {
  const auto deviation = [](const Tensor& x) {
    double squares = 0;
    for (const float value : x.to_vector<float>()) squares += std::pow(static_cast<double>(value), 2);
    return std::sqrt(squares / static_cast<double>(x.numel()));
  };
  const auto uniform = [](double width) { return 1 / std::sqrt(3 * width); };  // U(−1/√width, 1/√width)
  Generator generator(1);
  const MultiHeadAttention packed({.embed_dim = 64, .num_heads = 4, .add_bias_kv = true}, generator);
  // Thousands of samples know a deviation to 1 %, 64 to 9 % and 192 to 5 %.
  CHECK(deviation(packed.qkv.weight) == Approx(uniform(64)).epsilon(0.03));
  CHECK(deviation(packed.qkv.bias) == Approx(uniform(64)).epsilon(0.15));
  CHECK(deviation(packed.out.weight) == Approx(uniform(64)).epsilon(0.03));
  CHECK(deviation(packed.bias_k) == Approx(1 / 8.0).epsilon(0.3));
  CHECK(deviation(packed.bias_v) == Approx(1 / 8.0).epsilon(0.3));
  const MultiHeadAttention apart({.embed_dim = 64, .num_heads = 4, .kdim = 16, .vdim = 256}, generator);
  CHECK(deviation(apart.qkv.q_weight) == Approx(uniform(64)).epsilon(0.05));
  CHECK(deviation(apart.qkv.k_weight) == Approx(uniform(16)).epsilon(0.1));
  CHECK(deviation(apart.qkv.v_weight) == Approx(uniform(256)).epsilon(0.05));
}
