#include <cmath>
#include <limits>
#include <thread>

#include <catch2/catch.hpp>

#include <heed/core/anomaly.h>
#include <heed/core/error.h>
#include <heed/core/nonfinite.h>
#include <heed/core/scope.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Message;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// y = log x
struct LogVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {
    const Tensor inverse = map_elements(context.unpack(x), [](double v) { return 1 / v; });
    context.set(0, mul(context.cotangent(), inverse));
  }
};
Tensor log(const Tensor& x) {
  Tensor y = map_elements(x, [](double v) { return std::log(v); });
  record("log", {&x}, y, [&] { return LogVjp{save_input(x, "x")}; });
  return y;
}

// y = log x, −inf at 0 on purpose.
struct ClosedVjp {
  static constexpr bool may_be_infinite = true;
  void vjp(VjpContext& context) const { context.set(0, zeros(context.cotangent().shape(), DType::f64)); }
};
Tensor closed_log(const Tensor& x) {
  Tensor y = map_elements(x, [](double v) { return std::log(v); });
  record("closed_log", {&x}, y, [] { return ClosedVjp{}; });
  return y;
}

// y = x with a gradient of 1/x: finite forward, not so backward.
struct SteepVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {
    context.set(0, mul(context.cotangent(), map_elements(context.unpack(x), [](double v) { return 1 / v; })));
  }
};
Tensor steep(const Tensor& x) {
  Tensor y = copy_of(x);
  record("steep", {&x}, y, [&] { return SteepVjp{save_input(x, "x")}; });
  return y;
}

}  // namespace

TEST_CASE("the first NaN or Inf of a tensor", "[anomaly]") {
  CHECK_FALSE(find_nonfinite(tensor({1.0, 2.0})));
  CHECK_FALSE(find_nonfinite(tensor({std::int64_t{1}})));
  CHECK_FALSE(find_nonfinite(zeros({0, 3})));
  const Tensor x = tensor({1.0, -inf, 3.0, std::nan("")}, {2, 2});
  CHECK(find_nonfinite(x)->is_nan);
  CHECK(find_nonfinite(x)->element == 3);
  const Tensor transposed = view_of(x, permute_view("test", x.view(), {1, 0}));
  CHECK(find_nonfinite(view_of(transposed, slice_view("test", transposed.view(), 0, 1, {}, 1)))->element ==
        1);  // of [-inf, NaN]
  CHECK(find_nonfinite(tensor({0.f, std::numeric_limits<float>::infinity()}))->element == 1);
}

TEST_CASE("anomaly mode names the operation whose result is first NaN or Inf", "[anomaly]") {
  Tensor x = leaf(tensor({1.0, 2.0, -1.0, 0.0}, {2, 2}));
  const Scope outer("blocks");
  const AnomalyMode guard;
  {
    const Scope inner("0");
    CHECK_THROWS_MATCHES(log(x), GradError,
                         Message("log: the result became NaN at [1, 0], f64[2, 2]; expected finite numbers "
                                 "(AnomalyMode) (in module blocks.0)"));
  }
  CHECK_THROWS_MATCHES(heed::test::exp(scale(x, 1000)), GradError,
                       Message("exp: the result became Inf at [0, 0], f64[2, 2]; expected finite numbers "
                               "(AnomalyMode) (in module blocks)"));
  CHECK_NOTHROW(heed::test::exp(x));
}

TEST_CASE("anomaly mode says when an operand held the NaN already", "[anomaly]") {
  Tensor x = leaf(tensor({1.0, std::nan("")}));
  const AnomalyMode guard;
  CHECK_THROWS_MATCHES(scale(x, 2), GradError,
                       Message("scale: the result of operands that are not all finite is NaN at [1], f64[2]; "
                               "expected finite numbers (AnomalyMode)"));
}

TEST_CASE("anomaly mode lets wanted infinities pass", "[anomaly]") {
  Tensor x = leaf(tensor({0.0, 1.0}));
  const AnomalyMode guard;
  CHECK_THROWS_AS(log(x), GradError);
  CHECK_NOTHROW(closed_log(x));
  CHECK_NOTHROW(accumulate(x, tensor({-inf, 0.0})));  // a bias that closes a pair
  CHECK_NOTHROW(heed::test::exp(accumulate(x, tensor({-inf, 0.0}))));
  // −inf − (−inf) is NaN however it came about.
  const Tensor closed = closed_log(x);
  CHECK_THROWS_AS(accumulate(closed, scale(closed, -1)), GradError);
}

TEST_CASE("anomaly mode names the rule whose gradient is first NaN or Inf", "[anomaly]") {
  Tensor x = leaf(tensor({1.0, 0.0}));
  const auto loss = [&] {
    const Scope scope("head");
    return sum(scale(steep(x), 2));
  };
  const char* text =
      "steep: the gradient of input 0 became Inf at [1], f64[2]; expected finite numbers "
      "(AnomalyMode) (in module head)";
  {
    const AnomalyMode guard;
    CHECK_THROWS_MATCHES(backward(loss()), GradError, Message(text));
    // A rule that is recorded is judged by its gradients, not by the operations it is made of.
    CHECK_THROWS_MATCHES(grad(loss(), x, {.create_graph = true}), GradError, Message(text));
    CHECK(anomaly_mode());
  }
  CHECK_FALSE(anomaly_mode());
  CHECK_NOTHROW(backward(loss()));
}

TEST_CASE("anomaly mode tells a bad cotangent from a bad rule", "[anomaly]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  const Tensor y = scale(x, 2);
  const AnomalyMode guard;
  CHECK_THROWS_MATCHES(
      backward(y, {.cotangent = tensor({0.0, inf})}), GradError,
      Message("scale: the cotangent of result 0, as given or added up, is Inf at [1], f64[2]; "
              "expected finite numbers (AnomalyMode)"));
  // Two finite parts whose sum is not.
  const Tensor big = tensor({1e308, 0.0});
  Tensor w = leaf(tensor({0.25, 1.0}));
  const Tensor z = accumulate(mul(w, big), mul(w, big));
  CHECK_THROWS_MATCHES(
      backward(sum(z)), GradError,
      Message("leaf: the cotangent of result 0, as given or added up, is Inf at [0], f64[2]; "
              "expected finite numbers (AnomalyMode)"));
}

TEST_CASE("anomaly mode is of one thread, nests and records nothing itself", "[anomaly]") {
  Tensor x = leaf(-1.0);
  const auto before = tape_stats().live_nodes;
  {
    const AnomalyMode guard;
    { const AnomalyMode inner; }
    CHECK(anomaly_mode());
    bool other = true;
    std::thread([&] { other = anomaly_mode(); }).join();
    CHECK_FALSE(other);
    CHECK_THROWS_AS(log(x), GradError);
    const NoGrad none;
    CHECK_NOTHROW(log(x));  // what is not recorded is not looked at
  }
  CHECK(std::isnan(log(x).item<double>()));
  CHECK(tape_stats().live_nodes == before);
}
