#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/linear.h>
#include <heed/optim/watchers.h>
#include <heed/optim/weight_average.h>

using Catch::Contains;
using heed::Tensor;
namespace optim = heed::optim;

TEST_CASE("early stopping waits for as many losses as its patience") {
  optim::EarlyStopping stopping(2);
  CHECK_FALSE(stopping.observe(3));
  CHECK_FALSE(stopping.observe(3));  // no less
  CHECK_FALSE(stopping.observe(2));
  CHECK_FALSE(stopping.observe(std::nan("")));
  optim::EarlyStopping resumed(2);
  resumed.load_state_dict(stopping.state_dict());
  CHECK(resumed.observe(2.5));
  CHECK(resumed.best() == 2);
  CHECK(optim::EarlyStopping(1).observe(std::nan("")));
  CHECK_THROWS_AS(optim::EarlyStopping(0), heed::ValueError);
  CHECK_THROWS_WITH(resumed.load_state_dict({{"best", heed::scalar(1.0)}, {"wait", heed::scalar(1.0)}}),
                    Contains("'waited' is missing") && Contains("'wait' belongs to nothing"));
  CHECK(resumed.best() == 2);
}

TEST_CASE("the spike guard refuses what stands out") {
  optim::SpikeGuard guard({.factor = 2, .memory = 0.5, .warmup = 2, .most_in_row = 3});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK_FALSE(guard.accepts(std::nan(""), 1));
  CHECK(guard.accepts(4, 1));
  CHECK(guard.accepts(40, 1));  // warm-up: mean now 22
  CHECK_FALSE(guard.accepts(45, 1));
  CHECK(guard.accepts(2, 2));  // means 12 and 1.5
  CHECK_FALSE(guard.accepts(2, 3.1));
  CHECK_FALSE(guard.accepts(2, inf));
  CHECK(guard.refused() == 4);
  optim::SpikeGuard resumed({.factor = 2, .memory = 0.5, .warmup = 2, .most_in_row = 3});
  resumed.load_state_dict(guard.state_dict());
  CHECK_THROWS_WITH(resumed.accepts(25, 1),
                    Contains("3 steps in a row were refused") && Contains("12 and 1.5"));
  CHECK(guard.accepts(24, 3));
  CHECK_FALSE(guard.accepts(100, 1));  // the row began anew
  CHECK_THROWS_AS(optim::SpikeGuard({.factor = 1}), heed::ValueError);
  CHECK_THROWS_AS(optim::SpikeGuard({.memory = 1}), heed::ValueError);
  CHECK_THROWS_AS(optim::SpikeGuard({.most_in_row = 0}), heed::ValueError);
  CHECK_THROWS_AS(guard.load_state_dict({}), heed::ValueError);
}

TEST_CASE("averages follow the weights and change places with them") {
  heed::Generator random(1);
  heed::nn::Linear layer({2, 1, false}, random);
  const auto set = [&](double a, double b) {
    layer.weight.detach().copy_(heed::tensor({float(a), float(b)}, {1, 2}));
  };
  const auto values = [&] { return layer.weight.to_vector<float>(); };
  set(1, 2);
  optim::WeightAverage average(layer.named_parameters(), 0.75);
  set(5, -2);
  average.update();  // 0.75·1 + 0.25·5, 0.75·2 − 0.25·2: exact in binary
  {
    const optim::AveragedWeights scope(&average);
    CHECK(values() == std::vector<float>{2, 1});
  }
  CHECK(values() == std::vector<float>{5, -2});
  const optim::AveragedWeights nothing(nullptr);
  optim::WeightAverage other(layer.named_parameters(), 0.75);
  other.load_state_dict(average.state_dict());
  average.update();
  CHECK(other.state_dict()[0].second.to_vector<float>() == std::vector<float>{2, 1});  // a copy
  other.swap();
  CHECK(values() == std::vector<float>{2, 1});
  CHECK_THROWS_WITH(other.load_state_dict({{"weight", heed::zeros({2, 1})}}),
                    Contains("f32[2, 1], not f32[1, 2]"));
  CHECK_THROWS_AS(optim::WeightAverage(layer.named_parameters(), 1), heed::ValueError);
}
