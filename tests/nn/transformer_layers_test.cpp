// Values are held to PyTorch's by the conformance cases; here are masks, modes, names and gradients.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/draw_log.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/clone.h>
#include <heed/nn/torch_attention.h>
#include <heed/nn/transformer_layers.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/slice.h>

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::Activation;
using heed::nn::TransformerDecoderLayer;
using heed::nn::TransformerEncoderLayer;
using heed::nn::TransformerLayerOptions;

namespace {

using Values = std::vector<double>;

template <class Layer>
Layer make(TransformerLayerOptions options, double dropout = 0) {
  options.d_model = 4;
  options.nhead = 2;
  options.dim_feedforward = 5;
  options.dropout = dropout;
  Generator generator(5);
  Layer layer(options, generator);
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
  // The same sums, perhaps in panels of another size, through two or three norms.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(0).margin(1e-13));
}

// Both orders of norm and sum, both activations, without and with biases.
std::vector<TransformerLayerOptions> variants() {
  return {{},
          {.activation = Activation::gelu, .norm_first = true},
          {.activation = Activation::gelu, .layer_norm_eps = 1e-2, .bias = false}};
}

std::vector<std::string> paths(const heed::nn::Module& module) {
  std::vector<std::string> result;
  for (const auto& named : module.named_parameters()) result.push_back(named.first);
  return result;
}

// Gradients of every parameter and input; `call` takes the inputs, whose number is `inputs`.
template <class Layer, class Call>
void check_gradients(Layer& layer, std::vector<Tensor> given, const Call& call) {
  const std::size_t inputs = given.size();
  for (const auto& named : layer.named_parameters()) given.push_back(named.second);
  const auto function = [&](const std::vector<Tensor>& tensors) -> std::vector<Tensor> {
    layer.replace_parameters(std::span(tensors).subspan(inputs));
    return {call(tensors)};
  };
  const auto result = heed::check::gradcheck(function, given, {.max_elements = 8});
  INFO(result.report());
  CHECK(result.passed);
}

}  // namespace

TEST_CASE("transformer layers have PyTorch's parameter names") {
  const std::vector<std::string> encoder = {"self_attn.in_proj_weight",
                                            "self_attn.in_proj_bias",
                                            "self_attn.out_proj.weight",
                                            "self_attn.out_proj.bias",
                                            "linear1.weight",
                                            "linear1.bias",
                                            "linear2.weight",
                                            "linear2.bias",
                                            "norm1.weight",
                                            "norm1.bias",
                                            "norm2.weight",
                                            "norm2.bias"};
  CHECK(paths(make<TransformerEncoderLayer>({})) == encoder);
  const std::vector<std::string> decoder_without_bias = {"self_attn.in_proj_weight",
                                                         "self_attn.out_proj.weight",
                                                         "multihead_attn.in_proj_weight",
                                                         "multihead_attn.out_proj.weight",
                                                         "linear1.weight",
                                                         "linear2.weight",
                                                         "norm1.weight",
                                                         "norm2.weight",
                                                         "norm3.weight"};
  CHECK(paths(make<TransformerDecoderLayer>({.bias = false})) == decoder_without_bias);
}

TEST_CASE("an encoder layer is its parts in PyTorch's order") {
  const Tensor x = random_input({2, 3, 4});
  const auto first = make<TransformerEncoderLayer>({.activation = Activation::gelu, .norm_first = true});
  const Tensor z = x + first.self_attn(first.norm1(x));
  check_close(first(x), z + first.linear2(heed::gelu(first.linear1(first.norm2(z)))));
  const auto last = make<TransformerEncoderLayer>({});
  const Tensor u = last.norm1(x + last.self_attn(x));
  check_close(last(x), last.norm2(u + last.linear2(heed::relu(last.linear1(u)))));
}

TEST_CASE("a decoder layer is its parts in PyTorch's order") {
  const Tensor x = random_input({2, 3, 4});
  const Tensor memory = random_input({2, 5, 4}, 4);
  const auto layer = make<TransformerDecoderLayer>({.norm_first = true});
  const Tensor u = x + layer.self_attn(layer.norm1(x), AttentionMask::causal());
  const Tensor z = u + layer.multihead_attn(layer.norm2(u), memory, memory);
  check_close(layer(x, memory, AttentionMask::causal()),
              z + layer.linear2(heed::relu(layer.linear1(layer.norm3(z)))));
}

TEST_CASE("padding of source and memory is not seen", "[report-29]") {
  const Tensor x = random_input({2, 4, 4});
  const Tensor padding = heed::tensor({false, false, false, false, false, false, true, true}, {2, 4});
  const AttentionMask mask = heed::nn::torch_mask({}, padding, 2);
  const auto trimmed = [](const Tensor& t) { return heed::narrow(heed::narrow(t, 0, 1, 1), 1, 0, 2); };
  for (const TransformerLayerOptions& options : variants()) {
    const auto encoder = make<TransformerEncoderLayer>(options);
    check_close(trimmed(encoder(x, mask)), encoder(trimmed(x)));
    const auto decoder = make<TransformerDecoderLayer>(options);
    const Tensor target = random_input({2, 3, 4}, 5);
    const Tensor second = heed::narrow(target, 0, 1, 1);
    check_close(heed::narrow(decoder(target, x, AttentionMask::causal(), mask), 0, 1, 1),
                decoder(second, trimmed(x), AttentionMask::causal()));
  }
}

TEST_CASE("a causal layer does not see what comes later", "[report-23]") {
  for (const TransformerLayerOptions& options : variants()) {
    const auto encoder = make<TransformerEncoderLayer>(options);
    const auto decoder = make<TransformerDecoderLayer>(options);
    const Tensor memory = random_input({1, 2, 4}, 6);
    Tensor x = random_input({1, 4, 4});
    const AttentionMask causal = AttentionMask::causal();
    const auto early = [](const Tensor& y) { return heed::narrow(y, 1, 0, 3).to_vector<double>(); };
    const Values encoded = early(encoder(x, causal));
    const Values decoded = early(decoder(x, memory, causal));
    const Values open = early(encoder(x));
    heed::narrow(x, 1, 3, 1).fill_(5);
    CHECK(early(encoder(x, causal)) == encoded);
    CHECK(early(decoder(x, memory, causal)) == decoded);
    CHECK(early(encoder(x)) != open);
  }
}

TEST_CASE("transformer layers have the gradients of difference quotients") {
  const Tensor x = random_input({1, 3, 4}).set_requires_grad();
  const Tensor memory = random_input({1, 2, 4}, 4).set_requires_grad();
  for (const TransformerLayerOptions& options : variants()) {
    auto encoder = make<TransformerEncoderLayer>(options);
    check_gradients(encoder, {x}, [&](const auto& t) { return encoder(t[0], AttentionMask::causal()); });
    auto decoder = make<TransformerDecoderLayer>(options);
    check_gradients(decoder, {x, memory},
                    [&](const auto& t) { return decoder(t[0], t[1], AttentionMask::causal()); });
  }
}

TEST_CASE("dropout of transformer layers acts in training alone", "[report-24]") {
  const Tensor x = random_input({2, 3, 4});
  const Tensor memory = random_input({2, 2, 4}, 4);
  auto encoder = make<TransformerEncoderLayer>({}, 0.5);
  auto decoder = make<TransformerDecoderLayer>({}, 0.5);
  Generator generator(11);
  const Values encoded = encoder(x, {}, &generator).to_vector<double>();
  const Values decoded = decoder(x, memory, {}, {}, &generator).to_vector<double>();
  CHECK(encoder(x, {}, &generator).to_vector<double>() != encoded);
  generator.set_state({11, 0});
  CHECK(encoder(x, {}, &generator).to_vector<double>() == encoded);
  CHECK(decoder(x, memory, {}, {}, &generator).to_vector<double>() == decoded);
  CHECK_THROWS_WITH(encoder(x), Contains("no generator was given"));
  CHECK_THROWS_WITH(decoder(x, memory), Contains("no generator was given"));
  encoder.eval();
  decoder.eval();
  CHECK(encoder(x).to_vector<double>() == make<TransformerEncoderLayer>({})(x).to_vector<double>());
  CHECK(decoder(x, memory).to_vector<double>() ==
        make<TransformerDecoderLayer>({})(x, memory).to_vector<double>());
}

TEST_CASE("every place of a layer drops out by itself") {
  const Tensor x = random_input({1, 3, 4});
  const auto draws_of = [](const auto& call) {
    heed::DrawLog draws;
    const heed::RecordDraws record(draws);
    call();
    return draws.size();
  };
  Generator generator(1);
  // Attention's weights and its branch, the activation, the branch of the MLP.
  const auto encoder = make<TransformerEncoderLayer>({}, 0.5);
  CHECK(draws_of([&] { encoder(x, {}, &generator); }) == 4);
  const auto decoder = make<TransformerDecoderLayer>({}, 0.5);
  CHECK(draws_of([&] { decoder(x, x, {}, {}, &generator); }) == 6);
}

TEST_CASE("a transformer layer's state loads into another one") {
  const Tensor x = random_input({1, 3, 4});
  const auto source = make<TransformerEncoderLayer>({.norm_first = true});
  Generator generator(99);
  TransformerEncoderLayer target(
      {.d_model = 4, .nhead = 2, .dim_feedforward = 5, .dropout = 0, .norm_first = true}, generator);
  target.to(DType::f64);
  CHECK(target(x).to_vector<double>() != source(x).to_vector<double>());
  target.load_state_dict(source.state_dict());
  CHECK(target(x).to_vector<double>() == source(x).to_vector<double>());
  CHECK(clone(source)(x).to_vector<double>() == source(x).to_vector<double>());
  const auto decoder = make<TransformerDecoderLayer>({});
  CHECK(clone(decoder)(x, x).to_vector<double>() == decoder(x, x).to_vector<double>());
}

TEST_CASE("transformer layers refuse what does not fit") {
  Generator generator;
  CHECK_THROWS_WITH(TransformerEncoderLayer({.d_model = 6, .nhead = 4}, generator),
                    Contains("embed_dim is 6") && Contains("a multiple of num_heads, which is 4"));
  CHECK_THROWS_AS(TransformerDecoderLayer({.d_model = 4, .nhead = 2, .dim_feedforward = 0}, generator),
                  heed::ValueError);
  CHECK_THROWS_AS(TransformerEncoderLayer({.d_model = 4, .nhead = 2, .dropout = 2}, generator),
                  heed::ValueError);
  const auto decoder = make<TransformerDecoderLayer>({});
  CHECK_THROWS_AS(decoder(random_input({1, 2, 4}), random_input({1, 2, 5})), heed::ShapeError);
}
