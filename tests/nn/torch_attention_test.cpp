#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/clone.h>
#include <heed/nn/torch_attention.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::MultiHeadAttention;
using heed::nn::MultiHeadAttentionOptions;
using heed::nn::ParameterNames;
using heed::nn::torch_attention;
using heed::nn::torch_mask;

namespace {

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

MultiHeadAttention make(MultiHeadAttentionOptions options = {.embed_dim = 4, .num_heads = 2}) {
  options.names = ParameterNames::torch;
  Generator generator(5);
  MultiHeadAttention layer(options, generator);
  layer.to(DType::f64);
  return layer;
}

Tensor random_input(const heed::Shape& shape, std::uint64_t seed = 3) {
  Generator generator(seed);
  return heed::randn(shape, generator, DType::f64);
}

void check_close(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape() == want.shape());
  const Values a = got.to_vector<double>();
  const Values b = want.to_vector<double>();
  // The same sums, perhaps in panels of another size.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(0).margin(1e-14));
}

std::vector<std::string> paths(const MultiHeadAttention& layer) {
  std::vector<std::string> result;
  for (const auto& named : layer.named_parameters()) result.push_back(named.first);
  return result;
}

}  // namespace

TEST_CASE("parameters bear the names of torch.nn.MultiheadAttention") {
  using Names = std::vector<std::string>;
  CHECK(paths(make()) == Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"});
  CHECK(paths(make({.embed_dim = 4, .num_heads = 2, .bias = false})) ==
        Names{"in_proj_weight", "out_proj.weight"});
  CHECK(paths(make({.embed_dim = 4, .num_heads = 2, .kdim = 3, .vdim = 5, .add_bias_kv = true})) ==
        Names{"q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v",
              "out_proj.weight", "out_proj.bias"});
}

TEST_CASE("weights under PyTorch's names give the numbers of the same weights under ours") {
  Generator generator(8);
  MultiHeadAttention own({.embed_dim = 4, .num_heads = 2}, generator);
  own.to(DType::f64);
  MultiHeadAttention torch = make();
  const auto state = own.state_dict();
  torch.load_state_dict({{"in_proj_weight", state[0].second},
                         {"in_proj_bias", state[1].second},
                         {"out_proj.weight", state[2].second},
                         {"out_proj.bias", state[3].second}});
  const Tensor x = random_input({2, 3, 4});
  CHECK(torch(x).to_vector<double>() == own(x).to_vector<double>());
  CHECK_THROWS_WITH(torch.load_state_dict(state),
                    Contains("'in_proj_weight' is missing") && Contains("'qkv.weight' is not in the module"));
  CHECK(paths(clone(torch)) == paths(torch));
}

TEST_CASE("true in PyTorch's masks means ignored", "[report-29]") {
  const MultiHeadAttention layer = make();
  const Tensor query = random_input({2, 3, 4});
  const Tensor key = random_input({2, 4, 4}, 4);
  const Tensor padding = heed::tensor({false, false, false, false, false, false, true, true}, {2, 4});
  const auto padded =
      torch_attention(layer, query, key, key, {.key_padding_mask = padding, .batch_first = true});
  CHECK(padded.weights.shape() == heed::Shape{2, 3, 4});
  const Tensor closed = heed::narrow(heed::narrow(padded.weights, 0, 1, 1), 2, 2, 2);
  CHECK(closed.to_vector<double>() == Values(6, 0.0));
  const Tensor alone = heed::narrow(heed::narrow(key, 0, 1, 1), 1, 0, 2);
  check_close(heed::narrow(padded.output, 0, 1, 1), layer(heed::narrow(query, 0, 1, 1), alone, alone));

  const Tensor added = heed::tensor({0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -infinity, -infinity}, {2, 4});
  const auto by_bias =
      torch_attention(layer, query, key, key, {.key_padding_mask = added, .batch_first = true});
  check_close(by_bias.output, padded.output);
}

TEST_CASE("an attention mask may differ by sample and head") {
  const MultiHeadAttention layer = make();
  const Tensor x = random_input({3, 2, 4});
  // [B·H, Tq, Tk]: sample by sample, then head by head. Each row keeps one key of its own.
  Tensor mask = heed::full({6, 2, 2}, false, DType::boolean);
  for (std::int64_t i = 0; i < 6; ++i) heed::select(heed::select(mask, 0, i), 1, i % 2).fill_(true);
  const auto result = torch_attention(
      layer, x, x, x, {.attn_mask = mask, .average_attn_weights = false, .batch_first = true});
  REQUIRE(result.weights.shape() == heed::Shape{3, 2, 2, 2});
  const Values weights = result.weights.to_vector<double>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t head = i / 4 % 2;
    CHECK(weights[i] == (i % 2 == head ? 0.0 : 1.0));
  }
}

TEST_CASE("sequences may come first, and a batch may be absent") {
  const MultiHeadAttention layer = make();
  const Tensor query = random_input({2, 3, 4});
  const Tensor key = random_input({2, 5, 4}, 4);
  const auto batch_first = torch_attention(layer, query, key, key, {.batch_first = true});
  const Tensor keys = heed::transpose(key, 0, 1);
  const auto time_first = torch_attention(layer, heed::transpose(query, 0, 1), keys, keys);
  check_close(heed::transpose(time_first.output, 0, 1), batch_first.output);
  check_close(time_first.weights, batch_first.weights);

  const Tensor one = heed::select(key, 0, 0);
  const Tensor padding = heed::tensor({false, false, false, false, true});
  const auto single =
      torch_attention(layer, heed::select(query, 0, 0), one, one, {.key_padding_mask = padding});
  const Tensor short_keys = heed::narrow(one, 0, 0, 4);
  check_close(single.output, layer(heed::select(query, 0, 0), short_keys, short_keys));
  CHECK(single.weights.shape() == heed::Shape{3, 5});
}

TEST_CASE("weights are averaged over heads, or not, or left out") {
  const MultiHeadAttention layer = make();
  const Tensor x = random_input({2, 3, 4});
  const auto averaged = torch_attention(layer, x, x, x, {.batch_first = true});
  const auto by_head = torch_attention(layer, x, x, x, {.average_attn_weights = false, .batch_first = true});
  const auto none = torch_attention(layer, x, x, x, {.need_weights = false, .batch_first = true});
  check_close(averaged.weights, heed::mean(by_head.weights, {1}));
  CHECK_FALSE(none.weights.defined());
  check_close(none.output, averaged.output);
}

TEST_CASE("is_causal counts from the first key", "[report-22]") {
  const MultiHeadAttention layer = make();
  const Tensor query = random_input({1, 2, 4});
  const Tensor key = random_input({1, 4, 4}, 4);
  const auto result = torch_attention(layer, query, key, key, {.is_causal = true, .batch_first = true});
  const Values weights = result.weights.to_vector<double>();
  CHECK(weights[0] == Approx(1).epsilon(1e-15));
  for (const std::size_t closed : {1, 2, 3, 6, 7}) CHECK(weights[closed] == 0);
  CHECK(weights[5] > 0);
}

TEST_CASE("causal and padding are joined, and extra keys keep a row alive", "[report-20]") {
  const MultiHeadAttention layer = make({.embed_dim = 4, .num_heads = 2, .add_zero_attn = true});
  const Tensor x = random_input({1, 3, 4});
  const Tensor padding = heed::tensor({true, false, false}, {1, 3});
  const auto result =
      torch_attention(layer, x, x, x, {.key_padding_mask = padding, .is_causal = true, .batch_first = true});
  REQUIRE(result.weights.shape() == heed::Shape{1, 3, 4});
  const Values weights = result.weights.to_vector<double>();
  // Key 0 is padding, so query 0 has the zero key alone.
  CHECK(std::vector<double>(weights.begin(), weights.begin() + 4) == Values{0, 0, 0, 1});
  CHECK(weights[4] == 0);
  CHECK(weights[5] > 0);
  CHECK(weights[6] == 0);
  CHECK(weights[7] > 0);
}

TEST_CASE("torch_mask refuses what fits no batch", "[report-26]") {
  const MultiHeadAttention layer = make();
  const Tensor x = random_input({2, 3, 4});
  const auto call = [&](const heed::nn::TorchAttentionCall& options) {
    torch_attention(layer, x, x, x, options);
  };
  const auto open = [](const heed::Shape& shape) { return heed::full(shape, false, DType::boolean); };
  CHECK_THROWS_WITH(
      call({.attn_mask = open({3, 3, 3}), .batch_first = true}),
      Contains("torch_attention: attn_mask fits no batch") && Contains("a multiple of num_heads, 2"));
  CHECK_THROWS_AS(call({.attn_mask = open({6, 3, 3}), .batch_first = true}), heed::ShapeError);
  CHECK_THROWS_AS(call({.attn_mask = open({3}), .batch_first = true}), heed::ShapeError);
  CHECK_THROWS_AS(call({.key_padding_mask = open({3}), .batch_first = true}), heed::ShapeError);
  CHECK_THROWS_AS(call({.key_padding_mask = open({2, 4}), .batch_first = true}), heed::ShapeError);
  CHECK_THROWS_AS(call({.attn_mask = heed::zeros({3, 3}, DType::i64), .batch_first = true}),
                  heed::DTypeError);
  CHECK_THROWS_AS(torch_attention(layer, x, heed::select(x, 0, 0), x, {}), heed::ShapeError);
  CHECK(torch_mask({}, {}, 2).empty());
}
