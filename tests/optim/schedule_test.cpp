#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/optim/schedule.h>

using namespace heed::optim;

namespace {

// Both sides evaluate the same closed form in float64: a few roundings of the cosine and of pow.
void check_rates(const Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    CAPTURE(step);
    CHECK(std::abs(schedule(static_cast<std::int64_t>(step)) - expected[step]) <= 1e-13);
  }
}

}  // namespace

TEST_CASE("warm-up climbs to the rate and the cosine falls to the least rate") {
  const auto schedule = warmup_cosine({.lr = 1.0, .min_lr = 0.2, .warmup = 4, .total = 12});
  check_rates(schedule, {0.2, 0.4, 0.6, 0.8, 1.0});
  CHECK(schedule(8) == Approx(0.6).epsilon(1e-15));  // half-way down
  CHECK(schedule(12) == Approx(0.2).epsilon(1e-15));
  CHECK(schedule(1000) == schedule(12));
  for (std::int64_t step = 5; step <= 12; ++step) CHECK(schedule(step) < schedule(step - 1));
}

TEST_CASE("warm-up as long as the run, or none, or one step") {
  check_rates(warmup_cosine({.lr = 1.0, .min_lr = 0.0, .warmup = 3, .total = 3}),
              {0.25, 0.5, 0.75, 1.0, 0.0});
  CHECK(warmup_cosine({.lr = 2.0, .min_lr = 0.0, .warmup = 0, .total = 10})(0) == 2.0);
  CHECK(warmup_cosine({.lr = 2.0, .min_lr = 2.0, .warmup = 0, .total = 1})(5) == 2.0);
  CHECK(WarmupCosineOptions{}.warmup == 100);
}

TEST_CASE("step, multi-step, exponential and linear rates") {
  check_rates(step_decay({.lr = 1, .step_size = 3, .gamma = 0.5}), {1, 1, 1, 0.5, 0.5, 0.5, 0.25});
  // PyTorch's MultiStepLR: [3, 7, 8], gamma 0.349, start 0.175.
  check_rates(multi_step_decay({.lr = 0.175, .milestones = {3, 7, 8}, .gamma = 0.349}),
              {0.175, 0.175, 0.175, 0.06107499999999999, 0.06107499999999999, 0.06107499999999999,
               0.06107499999999999, 0.021315174999999995, 0.007438996074999998, 0.007438996074999998});
  check_rates(multi_step_decay({.lr = 1, .milestones = {2, 2}, .gamma = 0.1}), {1, 1, 0.01});
  check_rates(exponential_decay({.lr = 2, .gamma = 0.5}), {2, 1, 0.5, 0.25});
  check_rates(linear_ramp({.lr = 0.6, .start_factor = 0.5, .end_factor = 1, .total = 4}),
              {0.3, 0.375, 0.45, 0.525, 0.6, 0.6});
}

TEST_CASE("cosine and its restarts follow PyTorch") {
  // CosineAnnealingLR: T_max 16, eta_min 0.001, start 0.394.
  const auto annealing = cosine_annealing({.lr = 0.394, .min_lr = 0.001, .half_period = 16});
  check_rates(annealing, {0.394, 0.3902243075992348, 0.3790423281384679, 0.3608837788174502});
  CHECK(std::abs(annealing(16) - 0.001) <= 1e-15);
  CHECK(std::abs(annealing(19) - 0.034116221182549825) <= 1e-13);
  CHECK(annealing(29 + 32 * 1000) == annealing(29));
  // CosineAnnealingWarmRestarts: T_0 3, T_mult 2, eta_min 0.0001, start 0.423.
  check_rates(cosine_restarts({.lr = 0.423, .min_lr = 0.0001, .first_period = 3, .period_factor = 2}),
              {0.423, 0.317275, 0.10582500000000004, 0.423, 0.3946710716302196, 0.317275, 0.21155,
               0.10582500000000004, 0.028428928369780435, 0.423, 0.41579501596882346});
  const auto even = cosine_restarts({.lr = 1, .first_period = 4});
  CHECK(even(4'000'000'001) == even(1));
  const auto huge = cosine_restarts({.lr = 1, .first_period = 1, .period_factor = 1'000'000'000'000});
  const double last = huge(std::numeric_limits<std::int64_t>::max());
  CHECK((last >= 0 && last <= 1));
}

TEST_CASE("one cycle follows PyTorch") {
  // OneCycleLR: max_lr 0.5, total_steps 30, pct_start 0.231.
  const auto schedule = one_cycle({.max_lr = 0.5, .total = 30, .rise_share = 0.231});
  check_rates(schedule, {0.020000000000000018, 0.05289955975691657, 0.14257839709267522, 0.26444989310845435,
                         0.3851013930889544, 0.4714547200894248, 0.49998864190168335, 0.4973508175269434});
  CHECK(std::abs(schedule(29) - 2e-6) <= 1e-15);
  CHECK_THROWS_WITH(schedule(30), "one_cycle: value out of range, step is 30; expected below 30");
  CHECK(one_cycle({.max_lr = 1, .total = 1, .rise_share = 1})(0) == 1.0);
}

TEST_CASE("options outside their domain are refused") {
  CHECK_THROWS_WITH(warmup_cosine({.lr = -1}),
                    "warmup_cosine: value out of range, lr is -1; expected a finite number of at least 0");
  CHECK_THROWS_WITH(warmup_cosine({.lr = 0.1, .min_lr = 0.2}),
                    "warmup_cosine: value out of range, min_lr is 0.2; expected 0 to lr, which is 0.1");
  CHECK_THROWS_WITH(warmup_cosine({.warmup = -1}),
                    "warmup_cosine: value out of range, warmup is -1; expected at least 0");
  CHECK_THROWS_WITH(warmup_cosine({.total = 0}),
                    "warmup_cosine: value out of range, total is 0; expected at least 1");
  CHECK_THROWS_AS(warmup_cosine({.lr = std::numeric_limits<double>::quiet_NaN()}), heed::ValueError);
  CHECK_THROWS_WITH(warmup_cosine({})(-1),
                    "warmup_cosine: value out of range, step is -1; expected at least 0");
  CHECK_THROWS_AS(step_decay({.step_size = 0}), heed::ValueError);
  CHECK_THROWS_AS(multi_step_decay({.milestones = {-3}}), heed::ValueError);
  CHECK_THROWS_AS(linear_ramp({.total = 0}), heed::ValueError);
  CHECK_THROWS_AS(exponential_decay({.gamma = -0.5}), heed::ValueError);
  CHECK_THROWS_AS(cosine_annealing({.half_period = 0}), heed::ValueError);
  CHECK_THROWS_AS(cosine_restarts({.period_factor = 0}), heed::ValueError);
  CHECK_THROWS_AS(one_cycle({.rise_share = 1.5}), heed::ValueError);
}
