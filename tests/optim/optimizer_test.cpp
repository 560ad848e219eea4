#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/transpose.h>
#include <heed/optim/adadelta.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/adam.h>
#include <heed/optim/adamw.h>
#include <heed/optim/nadam.h>
#include <heed/optim/radam.h>
#include <heed/optim/rmsprop.h>
#include <heed/optim/sgd.h>

using heed::Tensor;
namespace optim = heed::optim;

namespace {

const std::vector<double> given_gradients = {0.5, -0.25, 1.0, 0.75};

/// Where a number that starts at 2 is after each step along the gradients.
template <class Rule, class Options>
std::vector<double> path(const Options& options, const std::vector<double>& gradients = given_gradients) {
  Tensor w = heed::scalar(2.0).set_requires_grad();
  Rule rule({{"w", w}}, options);
  std::vector<double> result;
  for (const double g : gradients) {
    w.set_grad(heed::scalar(g));
    rule.step();
    result.push_back(w.item<double>());
  }
  return result;
}

/// The expected numbers are given to twelve decimals.
void check_path(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-12).epsilon(0));
}

}  // namespace

// Expected values: torch.optim's update rules, replayed with plain numbers outside of heed.

TEST_CASE("SGD: decay, momentum, dampening, Nesterov") {
  using optim::SGD;
  using optim::SGDOptions;
  check_path(path<SGD>(SGDOptions{.lr = 0.1}), {1.95, 1.975, 1.875, 1.8});
  check_path(path<SGD>(SGDOptions{.lr = 0.1, .weight_decay = 0.1}), {1.93, 1.9357, 1.816343, 1.72317957});
  check_path(path<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1}),
             {1.93, 1.87156, 1.72399152, 1.51738795584});
  check_path(path<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}),
             {1.905, 1.912, 1.7058, 1.46772});
}

TEST_CASE("Adam: decay in the gradient, AMSGrad, decoupled decay") {
  using optim::Adam;
  using optim::AdamOptions;
  check_path(path<Adam>(AdamOptions{.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1}),
             {1.900000001429, 1.843365369844, 1.762700501010, 1.674167092386});
  // Gradients that fall, so that the greatest mean of squares is not the last one.
  const std::vector<double> falling = {1.0, 0.1, 0.05, 0.02};
  check_path(path<Adam>(AdamOptions{.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .amsgrad = true}, falling),
             {1.900000001000, 1.830178801756, 1.776880457449, 1.735383104700});
  const AdamOptions decoupled{
      .lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1, .amsgrad = true, .decoupled_decay = true};
  check_path(path<Adam>(decoupled), {1.880000002000, 1.839954087882, 1.753165043226, 1.655209147617});
}

TEST_CASE("Adam with decoupled decay is AdamW") {
  const auto mine = path<optim::Adam>(optim::AdamOptions{.weight_decay = 0.3, .decoupled_decay = true});
  check_path(mine, path<optim::AdamW>(optim::AdamWOptions{.weight_decay = 0.3}));
}

TEST_CASE("NAdam") {
  check_path(
      path<optim::NAdam>(optim::NAdamOptions{.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1}),
      {1.890472193311, 1.890646478577, 1.780107403228, 1.691104729873});
}

TEST_CASE("RAdam steps by momentum alone until it trusts the variance") {
  // The length of the average passes 5 at the sixth step with β2 = 0.95.
  check_path(
      path<optim::RAdam>(optim::RAdamOptions{.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1},
                         {0.5, -0.25, 1.0, 0.75, -0.5, 0.25, 0.1, -0.2}),
      {1.93, 1.902055555556, 1.836784836066, 1.761996118991, 1.719087683890, 1.708094919175, 1.694334668668,
       1.681244710572});
}

TEST_CASE("centered RMSprop of a constant gradient keeps a positive variance", "[fault-14]") {
  const double lr = 1e-3, alpha = 0.99;
  for (const double gradient : {12345.678, -3e-4, 1e9}) {
    Tensor w = heed::zeros({1}).set_requires_grad();
    optim::RMSprop optimizer({{"w", w}}, {.lr = lr, .alpha = alpha, .centered = true});
    double wanted = 0;
    for (int t = 1; t <= 3000; ++t) {
      w.set_grad(heed::full({1}, gradient));
      optimizer.step();
      // v = g² αᵗ (1 − αᵗ) in closed form.
      const double share = std::pow(alpha, t);
      wanted -= lr * gradient / (std::abs(gradient) * std::sqrt(share * (1 - share)) + 1e-8);
      INFO(gradient << " at step " << t);
      // a reaches g in f32 within some roundings, which then are what is left of g − a: the step is as
      // large as the running variance says, and no larger than that of a variance of one rounding.
      REQUIRE(std::isfinite(w.item<float>()));
      if (t <= 600) REQUIRE(w.item<float>() == Approx(wanted).epsilon(1e-3));
    }
  }
}

TEST_CASE("RMSprop: plain, centered with momentum and decay") {
  using optim::RMSprop;
  using optim::RMSpropOptions;
  check_path(path<RMSprop>(RMSpropOptions{.lr = 0.1, .alpha = 0.9}),
             {1.683772253983, 1.831214201442, 1.549356279304, 1.367206619078});
  check_path(path<RMSprop>(RMSpropOptions{
                 .lr = 0.1, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.5, .centered = true}),
             {1.666666682540, 1.540756761712, 1.176187967828, 0.787238498768});
}

TEST_CASE("Adagrad and Adadelta") {
  check_path(path<optim::Adagrad>(optim::AdagradOptions{
                 .lr = 0.1, .lr_decay = 0.05, .weight_decay = 0.1, .initial_accumulator = 0.1}),
             {1.908867762325, 1.916175568876, 1.839831705902, 1.792022640651});
  check_path(path<optim::Adadelta>(optim::AdadeltaOptions{.weight_decay = 0.1}),
             {1.996837754607, 1.997175627686, 1.993307316284, 1.989887555455});
}

TEST_CASE("an optimizer skips what has no gradient and follows strides and lr") {
  Tensor idle = heed::scalar(3.0).set_requires_grad();
  Tensor transposed = heed::transpose(heed::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3})).detach();
  transposed.set_requires_grad();
  optim::SGD rule({{"idle", idle}, {"transposed", transposed}}, {.lr = 1.0, .weight_decay = 0.5});
  transposed.set_grad(heed::zeros({3, 2}, heed::DType::f64));  // a zero gradient is a gradient
  rule.step();
  CHECK(idle.item<double>() == 3.0);
  CHECK(transposed.to_vector<double>() == std::vector<double>{0.5, 2.0, 1.0, 2.5, 1.5, 3.0});
  rule.set_lr(0.0);
  CHECK(rule.lr() == 0.0);
  rule.step();
  CHECK(transposed.to_vector<double>() == std::vector<double>{0.5, 2.0, 1.0, 2.5, 1.5, 3.0});
  rule.zero_grad();
  CHECK_FALSE(transposed.grad().defined());
}

TEST_CASE("optimizers refuse bad options and parameters") {
  Tensor w = heed::scalar(2.0).set_requires_grad();
  CHECK_THROWS_AS(optim::SGD({{"w", w}}, {.lr = -1.0}), heed::ValueError);
  CHECK_THROWS_AS(optim::SGD({{"w", w}}, {.lr = 1.0, .nesterov = true}), heed::ValueError);
  CHECK_THROWS_AS(optim::Adam({{"w", w}}, {.beta2 = 1.0}), heed::ValueError);
  CHECK_THROWS_AS(optim::RMSprop({{"w", w}}, {.alpha = -0.1}), heed::ValueError);
  CHECK_THROWS_AS(optim::Adam({{"a", w}, {"b", w}}), heed::ValueError);
  CHECK_THROWS_AS(optim::Adam({{"w", heed::mul(w, 2.0)}}), heed::GradError);
  CHECK_THROWS_AS(optim::Adam({{"w", heed::scalar(std::int64_t{2})}}), heed::DTypeError);
}
