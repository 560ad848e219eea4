#include <cmath>

#include <catch2/catch.hpp>

#include <heed/numeric/extrapolation.h>

using namespace heed;

namespace {

struct Run {
  numeric::Derivative derivative;
  int evaluations = 0;
};

// f in double at x; its rounding is that of one operation.
Run run(const std::function<double(double)>& f, double x, const numeric::DifferenceOptions& options = {}) {
  Run result;
  const auto pair = [&](double h) {
    result.evaluations += 2;
    return numeric::Pair{(x + h) - x, x - (x - h), f(x + h), f(x - h)};
  };
  result.derivative = numeric::differentiate(f(x), 2e-16 * (1 + std::abs(f(x))), pair, options);
  return result;
}

void require_honest(const numeric::Estimate& estimate, double truth, double widest) {
  INFO("value " << estimate.value << " bar " << estimate.bar << " truth " << truth);
  REQUIRE(std::abs(estimate.value - truth) <= estimate.bar);
  REQUIRE(estimate.bar <= widest);
}

}  // namespace

TEST_CASE("extrapolated differences hold the derivative inside a narrow bar, without a step to choose") {
  // 1e-11: the rounding of f over steps near 1/16, with what extrapolation adds.
  require_honest(run([](double x) { return std::exp(x); }, 0.3).derivative.central, std::exp(0.3), 1e-11);
  require_honest(run([](double x) { return std::sin(x); }, 2.0).derivative.central, std::cos(2.0), 1e-11);
  require_honest(run([](double x) { return x * x * x; }, -1.5).derivative.central, 6.75, 1e-11);
  require_honest(run([](double x) { return std::tanh(x); }, 9.0).derivative.central,
                 1 - std::pow(std::tanh(9.0), 2), 1e-11);
  require_honest(run([](double x) { return std::exp(100 * x); }, 0.0).derivative.central, 100, 1e-8);
  require_honest(run([](double x) { return std::sin(1000 * x); }, 0.1).derivative.central,
                 1000 * std::cos(100.0), 1e-7);
}

TEST_CASE("steps that leave the domain are passed over") {
  require_honest(run([](double x) { return std::log(x); }, 1e-3).derivative.central, 1000, 1e-7);
  require_honest(run([](double x) { return std::sqrt(x); }, 1e-4).derivative.central, 50, 1e-7);
}

TEST_CASE("a linear function takes three steps and a wanted bar saves evaluations") {
  const auto linear = run([](double x) { return 3 * x + 1; }, 0.7, {.rtol = 1e-9});
  require_honest(linear.derivative.central, 3, 1e-13);
  REQUIRE(linear.evaluations == 6);
  const auto f = [](double x) { return std::exp(std::sin(3 * x)); };
  REQUIRE(run(f, 0.4, {.rtol = 1e-6}).evaluations < run(f, 0.4).evaluations);
}

TEST_CASE("a kink at the point shows in the sides") {
  const auto at = run([](double x) { return std::abs(x) + x * x; }, 0.0).derivative;
  REQUIRE(at.kink());
  require_honest(at.left, -1, 1e-12);
  require_honest(at.right, 1, 1e-12);
  REQUIRE_FALSE(run([](double x) { return x * std::abs(x); }, 0.0).derivative.kink());
  REQUIRE_FALSE(run([](double x) { return std::exp(x); }, 0.0).derivative.kink());
}

TEST_CASE("a kink beside the point is left behind by smaller steps") {
  for (const double distance : {0.05, 1e-3, 1e-5, 1e-7}) {
    const auto d = run([](double x) { return x > 0 ? 2 * x : 0.0; }, -distance).derivative;
    INFO("distance " << distance);
    REQUIRE_FALSE(d.kink());
    require_honest(d.central, 0, 4e-15 / distance);  // rounding over a step of an eighth of it
  }
}

TEST_CASE("a jump has no narrow bar on its side") {
  const auto d = run([](double x) { return x < 0 ? 0.0 : 1.0; }, 0.0).derivative;
  REQUIRE(d.central.bar > 1);
}

TEST_CASE("a value that is not finite on one side leaves the other side's estimate") {
  const auto d = run([](double x) { return x < 0 ? std::nan("") : x; }, 0.0).derivative;
  REQUIRE(std::isinf(d.central.bar));
  REQUIRE(std::isinf(d.left.bar));
  require_honest(d.right, 1, 1e-12);
}

TEST_CASE("rounding noise is read off a difference table") {
  // Rounded to multiples of 2^-20: uniform noise of deviation 2^-20 / √12 on a smooth curve.
  const double grid = std::ldexp(1.0, -20);
  std::vector<long double> values;
  for (int i = 0; i < 12; ++i) values.push_back(std::round(std::sin(1 + 0.001 * i) / grid) * grid);
  const double noise = numeric::rounding_noise(values);
  REQUIRE(noise > grid / std::sqrt(12.0) / 3);  // twelve values tell a deviation to a factor of three
  REQUIRE(noise < grid / std::sqrt(12.0) * 3);
  std::vector<long double> exact;
  for (int i = 0; i < 7; ++i) exact.push_back(2.0L * i);
  REQUIRE(numeric::rounding_noise(exact) == 0);
}
