#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/core/view.h>
#include <heed/nn/linear.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>
#include <heed/optim/adamw.h>

using Catch::Contains;
using heed::Tensor;
using heed::optim::AdamW;
using heed::optim::AdamWOptions;

namespace {

constexpr AdamWOptions adamw_options = {.lr = 0.1, .weight_decay = 0.1};

Tensor leaf(double value) { return heed::scalar(value).set_requires_grad(); }

}  // namespace

TEST_CASE("AdamW's decay is decoupled") {
  Tensor w = leaf(2);
  AdamW optimizer({{"w", w}}, adamw_options);
  w.set_grad(heed::scalar(0.5));
  optimizer.step();
  CHECK(w.item<double>() == Approx(1.880000002).epsilon(1e-12));
  for (const double g : {-0.25, 1.0, 0.75}) {
    w.set_grad(heed::scalar(g));
    optimizer.step();
  }
  CHECK(w.item<double>() == Approx(1.655966338108).epsilon(1e-12));  // given to twelve decimals
}

TEST_CASE("matrices decay, gains and biases do not") {
  Tensor matrix = heed::ones({2, 2}, heed::DType::f64).set_requires_grad();
  Tensor gain = heed::ones({2}, heed::DType::f64).set_requires_grad();
  AdamW optimizer({{"matrix", matrix}, {"gain", gain}}, adamw_options);
  optimizer.decay_matrices_only();
  matrix.set_grad(heed::zeros_like(matrix));  // a zero gradient is a gradient
  gain.set_grad(heed::zeros_like(gain));
  optimizer.step();
  CHECK(matrix.to_vector<double>() == std::vector<double>(4, 1 - 0.1 * 0.1));
  CHECK(gain.to_vector<double>() == std::vector<double>(2, 1.0));
}

TEST_CASE("a parameter without a gradient is skipped, its step count too") {
  Tensor used = leaf(2);
  Tensor idle = leaf(3);
  AdamW optimizer({{"used", used}, {"idle", idle}}, adamw_options);
  used.set_grad(heed::scalar(0.5));
  optimizer.step();
  CHECK(idle.item<double>() == 3.0);
  idle.set_grad(heed::scalar(0.5));
  optimizer.step();
  CHECK(idle.item<double>() == Approx(3 * 0.99 - 0.1 * 0.5 / (0.5 + 1e-8)).epsilon(1e-14));  // t = 1
  optimizer.zero_grad();
  CHECK_FALSE(used.grad().defined());
}

TEST_CASE("AdamW gives the same bits for every thread count") {
  std::vector<std::vector<float>> results;
  const int threads = heed::num_threads();
  for (const int count : {1, 2, 3}) {
    heed::set_num_threads(count);
    heed::Generator generator(1);
    Tensor w = heed::randn({200, 333}, generator).set_requires_grad();  // several chunks, a rest in each
    AdamW optimizer({{"w", w}});
    for (int step = 0; step < 3; ++step) {
      w.set_grad(heed::randn({200, 333}, generator));
      optimizer.step();
    }
    results.push_back(w.to_vector<float>());
  }
  heed::set_num_threads(threads);
  CHECK(results[1] == results[0]);
  CHECK(results[2] == results[0]);
}

TEST_CASE("strided gradients and parameters are stepped element by element") {
  const Tensor base = heed::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2});
  const auto transposed = [](const Tensor& x) {
    return heed::view_of(x, heed::permute_view("test", x.view(), {1, 0}));
  };
  Tensor strided = transposed(heed::copy_of(base)).set_requires_grad();
  Tensor plain = heed::copy_of(strided).set_requires_grad();
  AdamW first({{"w", strided}}, adamw_options);
  AdamW second({{"w", plain}}, adamw_options);
  strided.set_grad(transposed(base));
  plain.set_grad(heed::copy_of(transposed(base)));
  first.step();
  second.step();
  CHECK(strided.to_vector<double>() == plain.to_vector<double>());
}

TEST_CASE("an optimizer survives the conversion of its module") {
  heed::Generator generator(1);
  heed::nn::Linear layer({2, 1}, generator);
  AdamW optimizer(layer.named_parameters(), adamw_options);
  const auto step = [&](const Tensor& x) {
    heed::backward(heed::sum(layer(x)));
    optimizer.step();
    optimizer.zero_grad();
  };
  step(heed::ones({1, 2}));
  const auto before = layer.weight.to_vector<float>();
  layer.to(heed::DType::f64);
  step(heed::ones({1, 2}, heed::DType::f64));
  // With equal gradients every step has length lr, beside the decay.
  const auto after = layer.weight.to_vector<double>();
  CHECK(after[0] == Approx(static_cast<double>(before[0]) * 0.99 - 0.1).epsilon(1e-6));  // f32 moments
}

TEST_CASE("a step between forward and backward is noticed") {
  Tensor w = leaf(2);
  AdamW optimizer({{"w", w}});
  const Tensor y = w * w;
  w.set_grad(heed::scalar(1.0));
  optimizer.step();
  CHECK_THROWS_AS(heed::backward(y), heed::GradError);
}

TEST_CASE("AdamW refuses what it cannot step") {
  const Tensor w = leaf(1);
  CHECK_THROWS_WITH(AdamW({{"a", w}, {"b", w}}), Contains("given twice") && Contains("b"));
  CHECK_THROWS_AS(AdamW({{"a", heed::scalar<std::int64_t>(1)}}), heed::DTypeError);
  CHECK_THROWS_WITH(AdamW({{"w", w}}, {.lr = -1}), Contains("lr is -1"));
  CHECK_THROWS_AS(AdamW({{"w", w}}, {.beta1 = 1}), heed::ValueError);
  CHECK_THROWS_AS(AdamW({{"w", w}}, {.beta2 = -0.1}), heed::ValueError);
  CHECK_THROWS_AS(AdamW({{"w", w}}, {.epsilon = -1}), heed::ValueError);
  CHECK_THROWS_AS(AdamW({{"w", w}}, {.weight_decay = std::nan("")}), heed::ValueError);
  AdamW optimizer({{"w", w}});
  CHECK_THROWS_AS(optimizer.set_lr(std::nan("")), heed::ValueError);
}
