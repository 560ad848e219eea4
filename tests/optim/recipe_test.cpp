#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/ops/cast.h>
#include <heed/optim/adamw.h>
#include <heed/optim/recipe.h>
#include <heed/optim/sgd.h>

using Catch::Contains;
using heed::Tensor;
namespace optim = heed::optim;

namespace {

constexpr optim::ScheduleSettings run_settings = {
    .lr = 1, .min_lr = 0.01, .warmup = 4, .decay = 20, .total = 104};

double after_two_steps(optim::Optimizer& optimizer, Tensor w) {
  for (const double gradient : {0.5, -0.25}) {
    w.set_grad(heed::scalar(gradient));
    optimizer.step();
  }
  return w.item<double>();
}

Tensor leaf() { return heed::scalar(2.0).set_requires_grad(); }

}  // namespace

TEST_CASE("warm-up, stable, decay") {
  const auto schedule =
      optim::warmup_stable_decay({.lr = 1, .min_lr = 0.2, .warmup = 3, .decay = 4, .total = 12});
  const std::vector<double> expected = {0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2};
  for (std::size_t step = 0; step < expected.size(); ++step) {
    CAPTURE(step);
    // roundings of one division and one multiplication
    CHECK(schedule(static_cast<std::int64_t>(step)) == Approx(expected[step]).epsilon(1e-15));
  }
  CHECK(optim::warmup_stable_decay({.lr = 1, .warmup = 0, .decay = 0, .total = 1})(9) == 1);
  CHECK_THROWS_WITH(optim::warmup_stable_decay({.warmup = 5, .decay = 6, .total = 10}),
                    Contains("decay is 6") && Contains("at most total 10 less warmup 5"));
  CHECK_THROWS_AS(optim::warmup_stable_decay({.decay = -1}), heed::ValueError);
}

TEST_CASE("every schedule by name climbs, stays in its range and ends low") {
  CHECK(optim::schedule_names().size() == 10);
  for (const std::string& name : optim::schedule_names()) {
    CAPTURE(name);
    const auto schedule = optim::make_schedule(name, run_settings);
    CHECK(schedule(0) <= 0.2);
    CHECK(schedule(0) > 0);
    double greatest = 0;
    for (std::int64_t step = 0; step < run_settings.total; ++step) {
      CHECK(schedule(step) > 0);
      greatest = std::max(greatest, schedule(step));
    }
    CHECK(greatest == Approx(1).epsilon(0.01));  // one-cycle meets its peak between two steps
    // The last step is less than a twentieth of the way from min_lr; pow and cbrt round a little.
    if (name == "constant") {
      CHECK(schedule(run_settings.total - 1) == 1);
    } else {
      CHECK(schedule(run_settings.total - 1) < 0.07);
      if (name != "one-cycle") CHECK(schedule(run_settings.total - 1) >= 0.01 * (1 - 1e-12));
    }
    CHECK_THROWS_AS(schedule(-1), heed::ValueError);
  }
  CHECK_THROWS_WITH(optim::make_schedule("cosin", run_settings),
                    Contains("'cosin'") && Contains("cosine, warmup-stable"));
  CHECK_THROWS_AS(optim::make_schedule("step", {.min_lr = 2}), heed::ValueError);
  CHECK_THROWS_AS(optim::make_schedule("step", {.total = 0}), heed::ValueError);
  CHECK_NOTHROW(optim::make_schedule("linear", {.lr = 0, .min_lr = 0, .warmup = 9, .total = 1}));
}

TEST_CASE("every optimizer by name takes the settings it knows") {
  CHECK(optim::optimizer_names().size() == 8);
  const optim::OptimizerSettings settings = {
      .lr = 0.1, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .momentum = 0.9};
  for (const std::string& name : optim::optimizer_names()) {
    CAPTURE(name);
    const Tensor w = leaf();
    const auto optimizer = optim::make_optimizer(name, {{"w", w}}, settings);
    CHECK(optimizer->lr() == 0.1);
    CHECK(after_two_steps(*optimizer, w) < 2);
    const Tensor other = leaf();
    auto no_decay = settings;
    no_decay.weight_decay = 0;
    CHECK(after_two_steps(*optim::make_optimizer(name, {{"w", other}}, no_decay), other) != w.item<double>());
    const Tensor exempt = leaf();  // a scalar is no matrix
    const auto third = optim::make_optimizer(name, {{"w", exempt}}, settings);
    third->decay_matrices_only();
    CHECK(after_two_steps(*third, exempt) == other.item<double>());
  }
  const Tensor a = leaf();
  const Tensor b = leaf();
  optim::AdamW adamw({{"w", a}}, {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1});
  CHECK(after_two_steps(*optim::make_optimizer("adamw", {{"w", b}}, settings), b) ==
        after_two_steps(adamw, a));
  CHECK_THROWS_WITH(optim::make_optimizer("adamv", {{"w", a}}, {}),
                    Contains("'adamv'") && Contains("adadelta"));
}

namespace {

bool subnormal_in(const Tensor& x) {
  for (const double v : heed::cast(x, heed::DType::f64).to_vector<double>()) {
    if (std::fpclassify(static_cast<float>(v)) == FP_SUBNORMAL) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("no optimizer leaves subnormal numbers in f32 weights and state", "[fault-21]") {
  for (const std::string& name : optim::optimizer_names()) {
    for (const double weight_decay :
         {0.0, 50.0}) {  // moments decay by 0.9 a step, or weights by about a half
      CAPTURE(name, weight_decay);
      Tensor w = heed::full({3, 5}, 1.0, heed::DType::f32).set_requires_grad();
      const auto optimizer = optim::make_optimizer(
          name, {{"w", w}}, {.lr = 0.01, .weight_decay = weight_decay, .beta2 = 0.9, .momentum = 0.9});
      w.set_grad(heed::full({3, 5}, 1e-3, heed::DType::f32));
      optimizer->step();
      w.set_grad(heed::full({3, 5}, 0.0, heed::DType::f32));
      for (int step = 0; step < 2000; ++step) {
        optimizer->step();
        // A state that decays passes the subnormal numbers within some ten steps, or stays there for ever.
        if (step % 5 == 0) CHECK_FALSE(subnormal_in(w));
      }
      for (const auto& [path, state] : optimizer->state_dict()) {
        INFO(path);
        if (state.dtype() == heed::DType::f32) CHECK_FALSE(subnormal_in(state));
      }
    }
  }
}
