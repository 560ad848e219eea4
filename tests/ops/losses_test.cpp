#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/losses.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Input classes(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 1, std::move(values), DType::i64, false};
}

// Mean over the elements of two operands.
Reference mean_of(double (*f)(double, double)) {
  return [f](const std::vector<Array>& in) {
    double total = 0;
    for (std::size_t i = 0; i < in[0].values.size(); ++i) total += f(in[0].values[i], in[1].values[i]);
    return Array{{}, {total / static_cast<double>(in[0].values.size())}};
  };
}

double huber(double a, double b) {
  const double d = std::abs(a - b);
  return d <= 0.7 ? 0.5 * d * d : 0.7 * (d - 0.35);
}

double divergence(double input, double target) { return target * (std::log(target) - input); }
double log_divergence(double input, double target) { return std::exp(target) * (target - input); }

// l = w ((1 − t) x + (1 + (p − 1) t) log(1 + exp(−x))) with p = 3 for column 0 and 0.5 for column 1
Array binary_terms(const std::vector<Array>& in) {
  Array y = in[0];
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const double x = in[0].values[i];
    const double t = in[1].values[i];
    const double p = in[2].values[i % 2];
    y.values[i] = in[3].values[i / 2] * ((1 - t) * x + (1 + (p - 1) * t) * std::log(1 + std::exp(-x)));
  }
  return y;
}

const Registration registration(
    {
        {"nll_loss",
         "weights, an ignored row, mean",
         {{{3, 3}}, classes({3}, {2, 1, 0}), {{3}, 0.5, 2.0}},
         ternary([](const Tensor& x, const Tensor& y, const Tensor& w) {
           return nll_loss(x, y, {.weight = w, .ignore_index = 1});
         }),
         [](const std::vector<Array>& in) {
           const Line& x = in[0].values;
           const Line& w = in[2].values;
           return Array{{}, {-(w[2] * x[2] + w[0] * x[6]) / (w[2] + w[0])}};
         }},
        {"nll_loss",
         "positions behind the classes, none",
         {{{1, 2, 3}}, classes({1, 3}, {1, 0, 1})},
         binary([](const Tensor& x, const Tensor& y) {
           return nll_loss(x, y, {.reduction = Reduction::none});
         }),
         [](const std::vector<Array>& in) {
           const Line& x = in[0].values;
           return Array{{1, 3}, {-x[3], -x[1], -x[5]}};
         }},
        {"mse_loss",
         "mean",
         {{{2, 3}}, {{2, 3}}},
         binary([](const Tensor& a, const Tensor& b) { return mse_loss(a, b); }),
         mean_of([](double a, double b) { return (a - b) * (a - b); })},
        {"l1_loss",
         "mean",
         {{{2, 3}}, {{2, 3}}},
         binary([](const Tensor& a, const Tensor& b) { return l1_loss(a, b); }),
         mean_of([](double a, double b) { return std::abs(a - b); })},
        {"huber_loss",
         "mean",
         {{{4, 5}}, {{4, 5}}},
         binary([](const Tensor& a, const Tensor& b) { return huber_loss(a, b, 0.7); }),
         mean_of(huber)},
        {"smooth_l1_loss",
         "mean",
         {{{4, 5}}, {{4, 5}}},
         binary([](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b, 0.7); }),
         mean_of([](double a, double b) { return huber(a, b) / 0.7; })},
        {"binary_cross_entropy_with_logits",
         "weights, none",
         {{{3, 2}}, {{3, 2}, 0, 1}, {{2}, 0.5, 3.0}, {{3, 1}, 0.5, 2.0}},
         [](const std::vector<Tensor>& x) {
           return std::vector<Tensor>{
               binary_cross_entropy_with_logits(x[0], x[1], x[2], x[3], Reduction::none)};
         },
         binary_terms},
        {"kl_div",
         "mean",
         {{{2, 3}, -3, 0}, {{2, 3}, 0.1, 1}},
         binary([](const Tensor& a, const Tensor& b) { return kl_div(a, b); }),
         mean_of(divergence)},
        {"kl_div",
         "log target",
         {{{2, 3}, -3, 0}, {{2, 3}, -3, 0}},
         binary([](const Tensor& a, const Tensor& b) { return kl_div(a, b, Reduction::mean, true); }),
         mean_of(log_divergence)},
    },
    {
        throws<IndexError>(
            "nll_loss", "target",
            [] {
              nll_loss(zeros({2, 4}), tensor({0L, 4L}));
            },
            "nll_loss: index out of range, target is 4 at position 1; expected 0 <= target < 4"),
        throws<ValueError>(
            "nll_loss", "smoothing",
            [] {
              nll_loss(zeros({2, 4}), tensor({0L, 1L}), {.label_smoothing = 0.5});
            },
            "nll_loss: bad label_smoothing, label_smoothing is 0.5; expected 0 (cross_entropy smooths)"),
        throws<ShapeError>(
            "mse_loss", "shapes", [] { mse_loss(zeros({2}), zeros({3})); },
            "mse_loss: shapes differ, a is [2] and b is [3]; expected equal shapes"),
        throws<DTypeError>(
            "l1_loss", "dtypes", [] { l1_loss(zeros({2}), zeros({2}, DType::f64)); },
            "l1_loss: dtypes differ, a is f32[2] and b is f64[2]; expected one dtype (use cast; 1.0f is "
            "f32)"),
        throws<ValueError>(
            "huber_loss", "delta", [] { huber_loss(zeros({2}), zeros({2}), 0); },
            "huber_loss: bad delta, delta is 0; expected delta > 0"),
        throws<ValueError>(
            "smooth_l1_loss", "beta", [] { smooth_l1_loss(zeros({2}), zeros({2}), -1); },
            "smooth_l1_loss: bad beta, beta is -1; expected beta >= 0"),
        throws<ShapeError>(
            "binary_cross_entropy_with_logits", "pos_weight",
            [] {
              binary_cross_entropy_with_logits(zeros({3, 2}), zeros({3, 2}), ones({3}));
            },
            "binary_cross_entropy_with_logits: pos_weight does not broadcast, pos_weight is [3]; expected a "
            "shape that expands to [3, 2]"),
        throws<ShapeError>(
            "kl_div", "shapes", [] { kl_div(zeros({2}), zeros({3})); },
            "kl_div: shapes differ, input is [2] and target is [3]; expected equal shapes"),
    });

}  // namespace

TEST_CASE("ignored rows count nothing even when they are not finite") {
  const double nan = std::nan("");
  Tensor x = tensor({-1.0, -2.0, nan, nan}, {2, 2});
  x.set_requires_grad();
  const Tensor loss = nll_loss(x, tensor({1L, -100L}));
  CHECK(loss.item<double>() == 2);
  CHECK(grad(loss, x).to_vector<double>() == std::vector<double>{0, -1, 0, 0});
  CHECK(nll_loss(x, tensor({-100L, -100L})).item<double>() == 0);
}

TEST_CASE("targets outside the classes are named before anything is read") {
  for (const std::int64_t bad :
       {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::min()}) {
    for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
      CHECK_THROWS_WITH(nll_loss(zeros({1, 4}), tensor({bad}), {.reduction = reduction}),
                        Catch::Contains("target is " + std::to_string(bad) + " at position 0"));
    }
  }
}

TEST_CASE("losses at the edges of their domain") {
  const Tensor far = tensor({-1000.0, 1000.0});
  const Tensor t = tensor({1.0, 0.0});
  CHECK(binary_cross_entropy_with_logits(far, t).item<double>() == 1000);
  CHECK(kl_div(tensor({-1.0, -2.0}), tensor({0.0, 1.0}), Reduction::sum).item<double>() == 2);
  CHECK(smooth_l1_loss(tensor({3.0}), tensor({1.0}), 0).item<double>() == 2);
  Tensor logit = tensor({0.0});
  logit.set_requires_grad();
  CHECK(grad(binary_cross_entropy_with_logits(logit, tensor({1.0})), logit).item<double>() == -0.5);
}
