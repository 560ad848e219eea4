#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/compare.h>
#include <heed/optim/adadelta.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/adam.h>
#include <heed/optim/adamw.h>
#include <heed/optim/nadam.h>
#include <heed/optim/radam.h>
#include <heed/optim/rmsprop.h>
#include <heed/optim/sgd.h>

using Catch::Contains;
using heed::Tensor;
using heed::nn::NamedTensors;
namespace optim = heed::optim;

namespace {

using Make = std::function<std::unique_ptr<optim::Optimizer>(NamedTensors)>;

template <class Rule, class Options>
Make maker(const Options& options) {
  return
      [options](NamedTensors parameters) { return std::make_unique<Rule>(std::move(parameters), options); };
}

const std::vector<std::pair<std::string, Make>> all_rules = {
    {"SGD", maker<optim::SGD>(optim::SGDOptions{.momentum = 0.9, .weight_decay = 0.1})},
    {"Adam", maker<optim::Adam>(optim::AdamOptions{.weight_decay = 0.1, .amsgrad = true})},
    {"AdamW", maker<optim::AdamW>(optim::AdamWOptions{})},
    {"NAdam", maker<optim::NAdam>(optim::NAdamOptions{})},
    {"RAdam", maker<optim::RAdam>(optim::RAdamOptions{})},
    {"RMSprop", maker<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.9, .centered = true})},
    {"Adagrad", maker<optim::Adagrad>(optim::AdagradOptions{.lr_decay = 0.1})},
    {"Adadelta", maker<optim::Adadelta>(optim::AdadeltaOptions{})}};

struct Weights {
  Tensor matrix, gain, idle;
  explicit Weights(std::uint64_t seed) {
    heed::Generator random(seed);
    matrix = heed::randn({3, 5}, random).set_requires_grad();
    gain = heed::randn({5}, random, heed::DType::f64).set_requires_grad();
    idle = heed::randn({2}, random).set_requires_grad();
  }
  NamedTensors named() const { return {{"matrix", matrix}, {"gain", gain}, {"idle", idle}}; }
  void run(optim::Optimizer& optimizer, int first, int last) {
    for (int step = first; step < last; ++step) {
      heed::Generator random(100, static_cast<std::uint64_t>(step));
      matrix.set_grad(heed::randn({3, 5}, random));
      gain.set_grad(heed::randn({5}, random, heed::DType::f64));
      optimizer.step();
    }
  }
};

NamedTensors copies(NamedTensors state) {
  for (auto& [path, value] : state) value = heed::copy_of(value);
  return state;
}

}  // namespace

TEST_CASE("a fresh optimizer with the state of another goes on bit for bit") {
  for (const auto& [name, make] : all_rules) {
    CAPTURE(name);
    Weights unbroken(1);
    const auto optimizer = make(unbroken.named());
    optimizer->decay_matrices_only();
    unbroken.run(*optimizer, 0, 7);
    const NamedTensors state = copies(optimizer->state_dict());
    Weights resumed(1);
    resumed.matrix.detach().copy_(unbroken.matrix.detach());
    resumed.gain.detach().copy_(unbroken.gain.detach());
    const auto fresh = make(resumed.named());
    fresh->decay_matrices_only();
    fresh->load_state_dict(state);
    unbroken.run(*optimizer, 7, 12);
    resumed.run(*fresh, 7, 12);
    CHECK(resumed.matrix.to_vector<float>() == unbroken.matrix.to_vector<float>());
    CHECK(resumed.gain.to_vector<double>() == unbroken.gain.to_vector<double>());
    CHECK(resumed.idle.to_vector<float>() == Weights(1).idle.to_vector<float>());
    // What was loaded is a copy: the state that was taken is as it was.
    const NamedTensors now = fresh->state_dict();
    REQUIRE(now.size() == state.size());
    CHECK(now.back().second.item<std::int64_t>() == 12);
    CHECK(state.back().second.item<std::int64_t>() == 7);
  }
}

TEST_CASE("every optimizer leaves frozen parameters alone, and goes on where they are trained again",
          "[fault-47]") {
  for (const auto& [name, make] : all_rules) {
    CAPTURE(name);
    Weights weights(1);
    Weights alone(1);
    weights.idle.set_requires_grad(false);  // frozen from the start, decay or not
    const auto optimizer = make(weights.named());
    const auto other = make(alone.named());
    weights.run(*optimizer, 0, 3);
    alone.run(*other, 0, 3);
    optimizer->zero_grad();

    weights.gain.set_requires_grad(false);  // frozen after three steps
    const auto value = weights.gain.to_vector<double>();
    const NamedTensors state = copies(optimizer->state_dict());
    for (int step = 3; step < 5; ++step) {
      heed::Generator random(100, static_cast<std::uint64_t>(step));
      weights.matrix.set_grad(heed::randn({3, 5}, random));
      optimizer->step();
      optimizer->zero_grad();
    }
    CHECK(weights.gain.to_vector<double>() == value);
    CHECK(weights.idle.to_vector<float>() == Weights(1).idle.to_vector<float>());
    const NamedTensors now = optimizer->state_dict();
    REQUIRE(now.size() == state.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!now[i].first.starts_with("gain.")) continue;
      CAPTURE(now[i].first);
      CHECK(heed::allclose(now[i].second, state[i].second, {.rtol = 0, .atol = 0}));
    }

    // Trained again, it takes the steps that one takes which was never frozen.
    weights.gain.set_requires_grad();
    weights.run(*optimizer, 3, 6);
    alone.run(*other, 3, 6);
    CHECK(weights.gain.to_vector<double>() == alone.gain.to_vector<double>());
  }
}

TEST_CASE("AdamW's moments and step count are kept") {
  Tensor w = heed::scalar(2.0).set_requires_grad();
  const auto step = [&w](optim::AdamW& optimizer, double gradient) {
    w.set_grad(heed::scalar(gradient));
    optimizer.step();
  };
  const optim::AdamWOptions options = {.lr = 0.1, .weight_decay = 0.1};
  optim::AdamW first({{"w", w}}, options);
  step(first, 0.5);
  step(first, -0.25);
  const NamedTensors state = first.state_dict();
  REQUIRE(state.size() == 3);
  CHECK(state[0].first == "w.first_moment");
  // to the digits given
  CHECK(state[0].second.item<double>() == Approx(0.02).epsilon(1e-12));
  CHECK(state[1].second.item<double>() == Approx(0.00031225).epsilon(1e-12));
  CHECK(state[2].second.item<std::int64_t>() == 2);
  CHECK(w.item<double>() == Approx(1.834566299).epsilon(1e-9));
  optim::AdamW second({{"w", w}}, options);
  second.load_state_dict(state);
  step(second, 1.0);
  step(second, 0.75);
  CHECK(w.item<double>() == Approx(1.655966338108).epsilon(1e-12));
}

TEST_CASE("a state that does not fit is refused whole, with every problem") {
  Weights weights(1);
  optim::AdamW optimizer(weights.named());
  weights.run(optimizer, 0, 2);
  NamedTensors state = copies(optimizer.state_dict());
  state[0].second = heed::zeros({5, 3});
  state[1].first = "matrix.other";
  state[3].second = heed::zeros({5});  // f32 for f64
  state.emplace_back("gain.steps", heed::scalar<std::int64_t>(2));
  const auto before = optimizer.state_dict()[0].second.to_vector<float>();
  CHECK_THROWS_WITH(optimizer.load_state_dict(state),
                    Contains("'matrix.first_moment' is f32[5, 3], not f32[3, 5]") &&
                        Contains("'matrix.second_moment' is missing") &&
                        Contains("'matrix.other' belongs to nothing") &&
                        Contains("'gain.first_moment' is f32[5], not f64[5]") &&
                        Contains("'gain.steps' is given twice") && Contains("does not fit AdamW"));
  CHECK(optimizer.state_dict()[0].second.to_vector<float>() == before);
  CHECK_THROWS_WITH(optimizer.load_state_dict({{"gain.steps", heed::scalar<std::int64_t>(0)}}),
                    Contains("'gain.steps' is 0"));
  // Another rule's state does not fit either; an empty one forgets everything.
  optim::SGD other(weights.named());
  CHECK_THROWS_AS(other.load_state_dict(copies(optimizer.state_dict())), heed::ValueError);
  optimizer.load_state_dict({});
  CHECK(optimizer.state_dict().empty());
}

TEST_CASE("Adam keeps the greatest moment with amsgrad alone") {
  Weights weights(1);
  optim::Adam plain(weights.named(), {.amsgrad = false});
  optim::Adam amsgrad(weights.named(), {.amsgrad = true});
  weights.run(plain, 0, 1);
  weights.run(amsgrad, 0, 1);
  const auto names = [](const optim::Optimizer& optimizer) {
    std::vector<std::string> result;
    for (const auto& [name, tensor] : optimizer.state_dict()) result.push_back(name);
    return result;
  };
  CHECK(names(plain)[2] == "matrix.steps");
  CHECK(names(amsgrad)[2] == "matrix.greatest_moment");
  CHECK_THROWS_WITH(plain.load_state_dict(copies(amsgrad.state_dict())),
                    Contains("'matrix.greatest_moment' belongs to nothing"));
  CHECK_THROWS_WITH(amsgrad.load_state_dict(copies(plain.state_dict())),
                    Contains("'matrix.greatest_moment' is missing"));
}
