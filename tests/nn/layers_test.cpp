#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/nn/dropout.h>
#include <heed/nn/embedding.h>
#include <heed/nn/init.h>
#include <heed/nn/linear.h>
#include <heed/nn/mlp.h>
#include <heed/nn/norm.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/linear.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;

namespace {

double mean(const std::vector<float>& values) {
  double total = 0;
  for (const float value : values) total += static_cast<double>(value);
  return total / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  double total = 0;
  for (const float value : values) total += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(total / static_cast<double>(values.size()) - mean(values) * mean(values));
}

}  // namespace

TEST_CASE("Linear applies its weight and bias") {
  Generator generator(1);
  heed::nn::Linear layer({.in = 2, .out = 3}, generator);
  layer.load_state_dict({{"weight", heed::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2})},
                         {"bias", heed::tensor({10.f, 20.f, 30.f})}});
  CHECK(layer(heed::tensor({1.f, -1.f}, {1, 2})).to_vector<float>() == std::vector<float>{9, 19, 29});
  CHECK(layer(heed::zeros({2, 4, 2})).shape() == heed::Shape{2, 4, 3});
  const heed::nn::Linear bare({.in = 2, .out = 3, .bias = false}, generator);
  CHECK(bare.named_parameters().size() == 1);
  CHECK_THROWS_AS(heed::nn::Linear({.in = 0, .out = 3}, generator), heed::ValueError);
  CHECK_THROWS_AS(layer(heed::zeros({2, 3})), heed::ShapeError);
}

TEST_CASE("Linear starts within its bound") {
  Generator generator(5);
  const heed::nn::Linear layer({.in = 100, .out = 50}, generator);
  for (const float w : layer.weight.to_vector<float>()) CHECK(std::abs(w) <= 0.1f);
  // A uniform distribution of half width 0.1 has deviation 0.1/√3 = 0.0577; 5000 samples know it to 1 %.
  CHECK(deviation(layer.weight.to_vector<float>()) == Approx(0.0577).epsilon(0.05));
}

TEST_CASE("Embedding looks rows up") {
  Generator generator(1);
  heed::nn::Embedding layer({.count = 3, .dim = 2}, generator);
  layer.load_state_dict({{"weight", heed::tensor({0.f, 1.f, 2.f, 3.f, 4.f, 5.f}, {3, 2})}});
  const Tensor y = layer(heed::tensor<std::int64_t>({2, 0, 2}));
  CHECK(y.to_vector<float>() == std::vector<float>{4, 5, 0, 1, 4, 5});
  CHECK_THROWS_AS(layer(heed::tensor<std::int64_t>({3})), heed::IndexError);
  CHECK_THROWS_AS(heed::nn::Embedding({.count = 3, .dim = 0}, generator), heed::ValueError);
}

TEST_CASE("the norms start as pure normalisation") {
  const Tensor x = heed::tensor({1.0, 3.0, 5.0, 7.0}, {1, 4});
  heed::nn::LayerNorm layer({.normalized_shape = {4}, .epsilon = 0});
  layer.to(heed::DType::f64);
  CHECK(layer.named_parameters().size() == 2);
  const auto y = layer(x).to_vector<double>();
  CHECK(y[0] == Approx(-3 / std::sqrt(5.0)));  // mean 4, variance 5
  CHECK(y[3] == Approx(3 / std::sqrt(5.0)));
  heed::nn::RMSNorm root({.normalized_shape = {4}, .epsilon = 0});
  root.to(heed::DType::f64);
  CHECK(root(x).to_vector<double>()[3] == Approx(7 / std::sqrt(21.0)));  // mean square 84/4
  CHECK(heed::nn::LayerNorm({.normalized_shape = {4}, .bias = false}).named_parameters().size() == 1);
  CHECK_THROWS_WITH(heed::nn::LayerNorm({}), Contains("normalized_shape has no axes"));
  CHECK_THROWS_AS(heed::nn::RMSNorm({.normalized_shape = {4}, .epsilon = -1}), heed::ValueError);
}

TEST_CASE("MLP is down(gelu(up(x))), four times as wide inside") {
  Generator generator(1);
  const heed::nn::MLP mlp({.dim = 4}, generator);
  CHECK(mlp.up.weight.shape() == heed::Shape{16, 4});
  const Tensor x = heed::randn({3, 4}, generator);
  const Tensor inside = heed::gelu(heed::linear(x, mlp.up.weight, mlp.up.bias));
  CHECK(mlp(x).to_vector<float>() == heed::linear(inside, mlp.down.weight, mlp.down.bias).to_vector<float>());
}

TEST_CASE("an MLP takes its activation, and a gate") {
  using heed::nn::Activation;
  Generator generator(1);
  const Tensor x = heed::randn({3, 4}, generator);
  const auto plain = [&](Activation activation, const auto& expected) {
    const heed::nn::MLP mlp({.dim = 4, .bias = false, .activation = activation}, generator);
    const Tensor y = heed::linear(expected(heed::linear(x, mlp.up.weight)), mlp.down.weight);
    CHECK(mlp(x).to_vector<float>() == y.to_vector<float>());
  };
  plain(Activation::relu, [](const Tensor& h) { return heed::relu(h); });
  plain(Activation::gelu_tanh, [](const Tensor& h) { return heed::gelu(h, heed::Gelu::tanh); });
  plain(Activation::silu, [](const Tensor& h) { return heed::silu(h); });
  const heed::nn::MLP swiglu(
      {.dim = 4, .hidden = 6, .bias = false, .activation = Activation::silu, .gated = true}, generator);
  REQUIRE(swiglu.gate);
  CHECK(swiglu.named_parameters().size() == 3);
  const Tensor inside = heed::silu(heed::linear(x, swiglu.gate->weight)) * heed::linear(x, swiglu.up.weight);
  CHECK(swiglu(x).to_vector<float>() == heed::linear(inside, swiglu.down.weight).to_vector<float>());
}

TEST_CASE("Norm is the norm of its kind") {
  using heed::nn::NormKind;
  Generator generator(1);
  const Tensor x = heed::randn({3, 4}, generator);
  const heed::nn::Norm layer({.normalized_shape = {4}, .epsilon = 1e-3});
  CHECK(layer.named_parameters().size() == 2);
  CHECK(layer(x).to_vector<float>() ==
        heed::nn::LayerNorm({.normalized_shape = {4}, .epsilon = 1e-3})(x).to_vector<float>());
  const heed::nn::Norm root({.normalized_shape = {4}, .kind = NormKind::rms, .epsilon = 1e-3});
  CHECK(root.named_parameters().size() == 1);
  CHECK(root(x).to_vector<float>() ==
        heed::nn::RMSNorm({.normalized_shape = {4}, .epsilon = 1e-3})(x).to_vector<float>());
  CHECK_THROWS_WITH(heed::nn::Norm({}), Contains("normalized_shape has no axes"));
}

TEST_CASE("dropout acts in training mode alone", "[report-24]") {
  heed::nn::Dropout layer({.p = 0.25});
  const Tensor x = heed::ones({100, 100});
  Generator generator(1);
  const auto y = layer(x, &generator).to_vector<float>();
  for (const float value : y) CHECK((value == 0.0f || value == Approx(1 / 0.75)));
  // 10 000 draws: the kept share 0.75 has deviation 0.0043, and a kept element weighs 1/0.75
  CHECK(mean(y) == Approx(1.0).margin(0.03));
  CHECK(layer(x, &generator).to_vector<float>() != y);
  CHECK_THROWS_WITH(layer(x), Contains("no generator was given"));
  layer.eval();
  CHECK(layer(x).to_vector<float>() == x.to_vector<float>());
  CHECK_THROWS_AS(heed::nn::Dropout({.p = 1.5}), heed::ValueError);
  CHECK_THROWS_AS(heed::nn::Dropout({.p = -0.1}), heed::ValueError);
}

TEST_CASE("initial weights and dropout are the same for every thread count", "[report-36]") {
  const int threads = heed::num_threads();
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> dropped;
  for (const int count : {1, 2, 3, 8}) {
    heed::set_num_threads(count);
    Generator generator(42);
    weights.push_back(heed::nn::normal_parameter({300, 301}, generator).to_vector<float>());
    const heed::nn::Dropout layer;
    dropped.push_back(layer(heed::ones({300, 301}), &generator).to_vector<float>());
  }
  heed::set_num_threads(threads);
  for (std::size_t i = 1; i < weights.size(); ++i) {
    CHECK(weights[i] == weights[0]);
    CHECK(dropped[i] == dropped[0]);
  }
}

TEST_CASE("two modules and two steps never share a stream", "[report-36]") {
  Generator generator(42);
  const heed::nn::Linear a({8, 8}, generator);
  const heed::nn::Linear b({8, 8}, generator);
  CHECK(a.weight.to_vector<float>() != b.weight.to_vector<float>());
  const heed::nn::Dropout layer;
  const Tensor x = heed::ones({64});
  const auto first = layer(x, &generator).to_vector<float>();
  const auto state = generator.state();
  const auto second = layer(x, &generator).to_vector<float>();
  CHECK(second != first);
  generator.set_state(state);  // a restored state resumes the stream
  CHECK(layer(x, &generator).to_vector<float>() == second);
}
