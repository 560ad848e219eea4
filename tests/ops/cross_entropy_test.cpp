#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/matmul.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Settings {
  double smoothing = 0;
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};

double log_sum_exp(const double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t c = 0; c < n; ++c) sum += std::exp(x[c]);
  return std::log(sum);
}

// Operands: logits [N, C], targets [N], class weights [C] (optional).
Reference index_reference(Settings s) {
  return [s](const std::vector<Array>& in) {
    const auto n = static_cast<std::size_t>(in[0].shape[0]);
    const auto classes = static_cast<std::size_t>(in[0].shape[1]);
    const auto w = [&](std::size_t c) { return in.size() > 2 ? in[2].values[c] : 1.0; };
    Array each{{in[0].shape[0]}, {}};
    double total = 0;
    double weight = 0;
    for (std::size_t r = 0; r < n; ++r) {
      const double* x = in[0].values.data() + r * classes;
      const auto y = static_cast<std::int64_t>(in[1].values[r]);
      double loss = 0;
      if (y != s.ignore_index) {
        const double lse = log_sum_exp(x, classes);
        const auto target = static_cast<std::size_t>(y);
        loss = (1 - s.smoothing) * w(target) * (lse - x[target]);
        for (std::size_t c = 0; c < classes; ++c)
          loss += s.smoothing / static_cast<double>(classes) * w(c) * (lse - x[c]);
        weight += w(target);
      }
      each.values.push_back(loss);
      total += loss;
    }
    if (s.reduction == Reduction::none) return each;
    if (s.reduction == Reduction::sum) return Array{{}, {total}};
    return Array{{}, {weight == 0 ? 0.0 : total / weight}};
  };
}

Function index_loss(Settings s) {
  return [s](const std::vector<Tensor>& x) {
    const CrossEntropyOptions options{x.size() > 2 ? x[2] : Tensor(), s.ignore_index, s.smoothing,
                                      s.reduction};
    return std::vector<Tensor>{cross_entropy(x[0], x[1], options)};
  };
}

const Input logits{{4, 5}, -3, 3};
const Input targets{{4}, 0, 0, {1, 4, -100, 0}, DType::i64};
const Input weights{{5}, 0, 0, {0.5, 2, 0, 1, 3}};

const Registration registration(
    {{"cross_entropy", "mean", {logits, targets}, index_loss({}), index_reference({})},
     {"cross_entropy",
      "sum, weights, smoothing",
      {logits, targets, weights},
      index_loss({0.1, -100, Reduction::sum}),
      index_reference({0.1, -100, Reduction::sum})},
     {"cross_entropy",
      "none, weights, smoothing, an ignored class inside",
      {logits, {{4}, 0, 0, {1, 4, 2, 0}, DType::i64}, weights},
      index_loss({0.3, 4, Reduction::none}),
      index_reference({0.3, 4, Reduction::none})},
     {"cross_entropy",
      "mean, weights",
      {logits, targets, weights},
      index_loss({0.0, -100, Reduction::mean}),
      index_reference({0.0, -100, Reduction::mean})},
     {"cross_entropy",
      "probabilities",
      {{{3, 4}}, {{3, 4}, 0.05, 1}},
      binary([](const Tensor& x, const Tensor& y) { return cross_entropy(x, y, {.label_smoothing = 0.2}); }),
      [](const std::vector<Array>& in) {
        double total = 0;
        for (std::size_t r = 0; r < 3; ++r) {
          const double lse = log_sum_exp(in[0].values.data() + r * 4, 4);
          for (std::size_t c = 0; c < 4; ++c) {
            total += (0.8 * in[1].values[r * 4 + c] + 0.05) * (lse - in[0].values[r * 4 + c]);
          }
        }
        return Array{{}, {total / 3}};
      }},
     {"cross_entropy_sum",
      "sum",
      {logits, targets},
      [](const std::vector<Tensor>& x) { return std::vector<Tensor>{cross_entropy_sum(x[0], x[1]).sum}; },
      index_reference({0, -100, Reduction::sum})}},
    {throws<IndexError>(
         "cross_entropy", "class outside",
         [] {
           cross_entropy(zeros({2, 4}), tensor<std::int64_t>({0, 4}));
         },
         "cross_entropy: index out of range, target is 4 at position 1; expected 0 <= target < 4"),
     throws<ShapeError>(
         "cross_entropy", "target shape",
         [] {
           cross_entropy(zeros({2, 4}), tensor<std::int64_t>({0}));
         },
         "cross_entropy: target has the wrong shape, target is [1]; expected [2], the shape of logits "
         "without the class axis"),
     throws<ValueError>(
         "cross_entropy", "smoothing",
         [] {
           cross_entropy(zeros({1, 4}), tensor<std::int64_t>({0}), {.label_smoothing = 1.5});
         },
         "cross_entropy: bad label_smoothing, label_smoothing is 1.5; expected 0 <= label_smoothing <= 1"),
     throws<DTypeError>(
         "cross_entropy_sum", "dtype",
         [] {
           cross_entropy_sum(zeros({1, 4}, DType::i64), tensor<std::int64_t>({0}));
         },
         "cross_entropy: dtype not supported, logits is i64[1, 4]; expected f32 or f64")});

}  // namespace

TEMPLATE_TEST_CASE("cross entropy is exact at large logits", "", float, double) {
  Tensor x = tensor<TestType>({-400, 250, 430}).set_requires_grad();
  const Tensor loss = cross_entropy(x, scalar<std::int64_t>(0));
  REQUIRE(loss.item<TestType>() == 830);
  backward(loss);
  const double wanted[] = {-1, 0, 1};
  // e^-180 is all that the middle class has left in f64.
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(x.grad().to_vector<TestType>()[i] == Approx(wanted[i]).margin(1e-70).epsilon(0));
}

TEMPLATE_TEST_CASE("label smoothing leaves ignored positions out", "", float, double) {
  const Tensor x = tensor<TestType>({1, 2, 0, -1, TestType(.5), 0, 3, 1, 9, -9, 4, 0}, {3, 4});
  const Tensor y = tensor<std::int64_t>({1, 2, -100});
  const auto loss = [&](Reduction r) {
    return cross_entropy(x, y, {.label_smoothing = 0.1, .reduction = r}).template to_vector<TestType>();
  };
  const auto each = loss(Reduction::none);
  // Seven digits are given.
  REQUIRE(each[0] == Approx(.5901897).margin(1e-6));
  REQUIRE(each[1] == Approx(.4243155).margin(1e-6));
  REQUIRE(each[2] == 0);
  REQUIRE(loss(Reduction::sum)[0] == Approx(1.0145052).margin(1e-6));
  REQUIRE(loss(Reduction::mean)[0] == Approx(.5072526).margin(1e-6));
  REQUIRE(cross_entropy(x, y).template item<TestType>() == Approx(.3385026).margin(1e-6));
}

TEMPLATE_TEST_CASE("an ignored row has gradient 0, even of NaN and infinities", "", float, double) {
  const auto nan = std::numeric_limits<TestType>::quiet_NaN();
  Tensor x = tensor<TestType>({1, 2, nan, static_cast<TestType>(inf)}, {2, 2}).set_requires_grad();
  const Tensor y = tensor<std::int64_t>({1, -100});
  for (const double smoothing : {0.0, 0.2}) {
    for (const bool record : {false, true}) {
      const Tensor loss = cross_entropy(x, y, {.label_smoothing = smoothing});
      REQUIRE(std::isfinite(loss.item<TestType>()));
      const auto g = grad(loss, x, {.create_graph = record}).template to_vector<TestType>();
      REQUIRE(std::isfinite(g[0]));
      REQUIRE(g[2] == 0);
      REQUIRE(g[3] == 0);
    }
  }
}

TEMPLATE_TEST_CASE("all ignored: loss 0 and gradients 0", "", float, double) {
  Tensor x = ones({2, 3}, dtype_of<TestType>).set_requires_grad();
  const Tensor loss = cross_entropy(x, tensor<std::int64_t>({-100, -100}));
  REQUIRE(loss.item<TestType>() == 0);
  backward(loss);
  REQUIRE(x.grad().to_vector<TestType>() == std::vector<TestType>(6, 0));
}

TEST_CASE("targets outside of the classes are refused by value, position and count") {
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{-4}, std::int64_t{1} << 31,
                                 std::numeric_limits<std::int64_t>::min()}) {
    for (const Reduction r : {Reduction::none, Reduction::mean, Reduction::sum}) {
      REQUIRE_THROWS_WITH(
          cross_entropy(zeros({2, 4}), tensor<std::int64_t>({0, bad}), {.reduction = r}),
          Catch::Contains("target is " + std::to_string(bad) + " at position 1") && Catch::Contains("< 4"));
    }
  }
  REQUIRE(cross_entropy(zeros({1, 4}), tensor<std::int64_t>({3}), {.ignore_index = 3}).item<float>() == 0);
}

TEST_CASE("a logit of -inf with coefficient 0 is skipped") {
  const Tensor x = tensor({0.0, -inf}, {1, 2});
  REQUIRE(cross_entropy(x, tensor<std::int64_t>({0})).item<double>() == 0);
  REQUIRE(cross_entropy(x, tensor({1.0, 0.0}, {1, 2})).item<double>() == 0);
}

TEST_CASE("accumulation over micro-batches divides once by the total weight") {
  Generator generator(4);
  const Tensor x = randn({4, 6}, generator, DType::f64);
  const Tensor y = tensor<std::int64_t>({1, -100, 5, 2});
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return cross_entropy_sum(view_of(x, slice_view("test", x.view(), 0, begin, end, 1)),
                             view_of(y, slice_view("test", y.view(), 0, begin, end, 1)));
  };
  const LossSum a = part(0, 2);
  const LossSum b = part(2, 4);
  REQUIRE(a.weight == 1);
  REQUIRE(b.weight == 2);
  const double joined = (a.sum.item<double>() + b.sum.item<double>()) / (a.weight + b.weight);
  REQUIRE(joined == Approx(cross_entropy(x, y).item<double>()).epsilon(1e-14));
}

TEST_CASE("the gradient is written over logits that nobody else holds, with the same bits") {
  constexpr std::int64_t rows = 64, classes = 4096;
  Generator generator(5);
  const Tensor x = randn({rows, classes}, generator).set_requires_grad();
  const Tensor y = randint(0, classes, {rows}, generator);
  const CrossEntropyOptions options{.ignore_index = 7, .label_smoothing = GENERATE(0.0, 0.1)};
  const auto gradient_of = [&](const Tensor& loss, bool retain) {
    Tensor scale = x;
    scale.zero_grad();
    backward(loss, {.retain_graph = retain});
    return x.grad();
  };

  Tensor held = mul(x, 2);
  const Tensor loss = cross_entropy(held, y, options);
  const Tensor kept = gradient_of(loss, true);
  REQUIRE(kept.to_vector<float>() == gradient_of(loss, false).to_vector<float>());
  REQUIRE(held.to_vector<float>() == mul(x.detach(), 2).to_vector<float>());

  // Where the gradient of the logits stands: in their own bytes if nobody else holds them and the graph goes.
  const auto stands_over_logits = [&](bool hold, bool retain) {
    Tensor scores = mul(x, 2);
    const float* const bytes_of_logits = scores.data<float>();
    const float* seen = nullptr;
    scores.register_hook([&](const Tensor& gradient) {
      seen = gradient.data<float>();
      return Tensor();
    });
    const Tensor result = cross_entropy(scores, y, options);
    if (!hold) scores = Tensor();
    REQUIRE(gradient_of(result, retain).to_vector<float>() == kept.to_vector<float>());
    REQUIRE(seen != nullptr);
    return seen == bytes_of_logits;
  };
  CHECK(stands_over_logits(false, false));
  CHECK_FALSE(stands_over_logits(true, false));
  CHECK_FALSE(stands_over_logits(false, true));
}

TEST_CASE("cross entropy makes no second array of the size of its logits", "[fault-F]") {
  constexpr std::int64_t rows = 64, classes = 4096, bytes = rows * classes * 4;
  Generator generator(5);
  const Tensor w = randn({rows, 1}, generator).set_requires_grad();
  const Tensor y = randint(0, classes, {rows}, generator);
  const Tensor v = randn({1, classes}, generator);
  // The gradient of w is small: beside the logits only theirs could be large. The products of the tape
  // need v alone.
  const Tensor loss = cross_entropy(matmul(w, v), y);
  const std::int64_t before = memory_stats().live;
  reset_peak_bytes();
  backward(loss);
  CHECK(memory_stats().peak - before < bytes / 2);
}

TEST_CASE("a maximum that grows along a long row rescales what was added up") {
  std::vector<double> row(5000, -inf);
  for (std::size_t i = 2500; i < 5000; ++i) row[i] = static_cast<double>(i) * 0.25 - 900;
  const Tensor x = from_span(std::span<const double>(row), {1, 5000});
  const Tensor y = tensor<std::int64_t>({4999});
  // Σ e^(−k/4) to its last bit: the row is longer than e^−745.
  REQUIRE(cross_entropy(x, y).item<double>() == Approx(-std::log1p(-std::exp(-0.25))).epsilon(1e-13));
  REQUIRE(std::isnan(cross_entropy(full({1, 5000}, -inf, DType::f64), y).item<double>()));
}

// d/dw_c of Σ_r w_y l_r / Σ_r w_y is Σ_{r: y = c} (l_r − mean) / Σ_r w_y.
TEST_CASE("class weights that require grad get their gradient from index targets", "[fault-15]") {
  const Tensor x = zeros({3, 2}, DType::f64);
  x.detach().copy_(tensor({1.0, 0.0, 0.0, 0.0, 0.0, 2.0}, {3, 2}));
  Tensor w = tensor({1.0, 3.0}).set_requires_grad();
  const Tensor classes = tensor<std::int64_t>({0, 1, -100});
  const double a = std::log1p(std::exp(-1.0));
  const double b = std::log(2.0);
  const double mean = (a + 3 * b) / 4;
  const Tensor loss = cross_entropy(x, classes, {.weight = w});
  CHECK(loss.item<double>() == Approx(mean).epsilon(1e-14));  // some 50 roundings
  const auto dw = grad(loss, w).to_vector<double>();
  CHECK(dw[0] == Approx((a - mean) / 4).epsilon(1e-14));
  CHECK(dw[1] == Approx((b - mean) / 4).epsilon(1e-14));

  // Rows that are all ignored have no weight and no gradient.
  const Tensor nothing = cross_entropy(x, full({3}, -100, DType::i64), {.weight = w});
  CHECK(nothing.item<double>() == 0);
  CHECK(grad(nothing, w).to_vector<double>() == std::vector<double>{0, 0});
}
