// Values of norms, losses and their derivatives that were wrong once.
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/losses.h>
#include <heed/ops/matmul.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/rounding.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/variance.h>
#include <heed/ops/vector_norm.h>

#include "../support/quad.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> doubles_of(const Tensor& x) {
  std::vector<double> y;
  if (x.dtype() == DType::f64) return x.to_vector<double>();
  for (const float v : x.to_vector<float>()) y.push_back(static_cast<double>(v));
  return y;
}

// The second derivatives of f at x, a row for each element.
std::vector<double> hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  Tensor x = at.detach();
  x.set_requires_grad();
  const Tensor y = f(x);
  const Tensor g = grad(y, x, {.create_graph = true});
  std::vector<double> rows;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    Tensor e = zeros(x.shape(), x.dtype());
    e.mutable_data<double>()[i] = 1;
    const Tensor row = g.requires_grad()
                           ? grad(g, x, {.grad_outputs = {e}, .retain_graph = true, .allow_unused = true})
                           : Tensor();
    for (const double v :
         row.defined() ? row.to_vector<double>() : std::vector<double>(static_cast<std::size_t>(x.numel())))
      rows.push_back(v);
  }
  return rows;
}

const std::vector<double> twice_one = {2, 0, 0, 0, 2, 0, 0, 0, 2};

}  // namespace

TEST_CASE("losses have their limits at infinity", "[fault-10]") {
  const auto none = Reduction::none;
  for (const bool fused : {true, false}) {
    std::optional<NoFusion> guard;
    if (!fused) guard.emplace();
    for (const DType dtype : {DType::f32, DType::f64}) {
      const auto row = [&](std::vector<double> values) {
        Tensor x = empty({static_cast<std::int64_t>(values.size())}, dtype);
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (dtype == DType::f64) {
            x.mutable_data<double>()[i] = values[i];
          } else {
            x.mutable_data<float>()[i] = static_cast<float>(values[i]);
          }
        }
        return x;
      };
      Tensor x = row({-infinity, infinity, -infinity, infinity}).set_requires_grad();
      const Tensor bce = binary_cross_entropy_with_logits(x, row({0, 0, 1, 1}), {}, {}, none);
      CHECK(doubles_of(bce) == std::vector<double>{0, infinity, infinity, 0});
      CHECK(doubles_of(grad(sum(bce), x)) == std::vector<double>{0, 1, -1, 0});

      Tensor input = row({-1, -infinity, -3}).set_requires_grad();
      Tensor target = row({-infinity, -infinity, -1}).set_requires_grad();
      const Tensor kl = kl_div(input, target, none, true);
      CHECK(doubles_of(kl)[0] == 0);
      CHECK(doubles_of(kl)[1] == 0);
      CHECK(doubles_of(kl)[2] == Approx(2 * std::exp(-1)).epsilon(1e-6));
      const std::vector<Tensor> both{input, target};
      const auto slopes = grad(std::span(&kl, 1), both, {.grad_outputs = {full(kl.shape(), 1, dtype)}});
      CHECK(doubles_of(slopes[0])[0] == 0);
      CHECK(doubles_of(slopes[1])[0] == 0);
      CHECK(doubles_of(slopes[1])[1] == 0);

      Tensor a = row({3, infinity, -infinity}).set_requires_grad();
      const Tensor quadratic = huber_loss(a, row({0, 0, 0}), infinity, none);
      CHECK(doubles_of(quadratic) == std::vector<double>{4.5, infinity, infinity});
      CHECK(doubles_of(grad(sum(quadratic), a)) == std::vector<double>{3, infinity, -infinity});
      const Tensor linear = huber_loss(a, row({0, 0, 0}), 2.0, none);
      CHECK(doubles_of(linear) == std::vector<double>{4, infinity, infinity});
      CHECK(doubles_of(grad(sum(linear), a)) == std::vector<double>{2, 2, -2});
      const Tensor smooth = smooth_l1_loss(a, row({0, 0, 0}), 2.0, none);
      CHECK(doubles_of(grad(sum(smooth), a)) == std::vector<double>{1, 1, -1});
    }
  }
}

TEST_CASE("second derivatives through a norm at zero: the value where there is one", "[fault-11]") {
  const Tensor origin = zeros({3}, DType::f64);
  CHECK(hessian([](const Tensor& x) { return square(vector_norm(x)); }, origin) == twice_one);
  const auto product = [](const Tensor& x) {
    const Tensor n = vector_norm(x);
    return mul(n, n);
  };
  CHECK(hessian(product, origin) == twice_one);
  // The fault's: exp(−|a − b|²) at a = b, −2 I.
  const Tensor b = tensor<double>({1, -2, 5});
  const auto gaussian = [&](const Tensor& a) { return exp(neg(square(vector_norm(sub(a, b))))); };
  for (const double v : hessian([&](const Tensor& a) { return neg(gaussian(a)); }, b))
    CHECK((v == 0 || v == 2));
  CHECK(hessian([&](const Tensor& a) { return neg(gaussian(a)); }, b) == twice_one);
  // By rows, one of them zero: f(|x|) with f'' = 2 at 0, and the sum of both.
  const Tensor two = tensor<double>({0, 0, 3, 4});
  const auto rows = [](const Tensor& x) { return sum(square(vector_norm(reshape(x, {2, 2}), 2, {-1}))); };
  const std::vector<double> h = hessian(rows, two);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) CHECK(h[4 * i + j] == Approx(i == j ? 2 : 0).margin(1e-14));
  }
  CHECK(hessian([](const Tensor& x) { return sum(square(abs(x))); }, origin) == twice_one);
  CHECK(hessian([](const Tensor& x) { return square(standard_deviation(x, {}, 0)); },
                full({2}, 7, DType::f64)) == std::vector<double>{0.5, -0.5, -0.5, 0.5});
  CHECK(hessian([](const Tensor& x) { return square(vector_norm(x, 2)); }, full({1}, 0, DType::f64)) ==
        std::vector<double>{2});
}

TEST_CASE("second derivatives through a norm at zero: NaN where there is none", "[fault-11]") {
  const Tensor origin = zeros({2}, DType::f64);
  const auto all_nan = [&](const std::function<Tensor(const Tensor&)>& f) {
    const std::vector<double> h = hessian(f, origin);
    return std::isnan(h[0]) && std::isnan(h[3]);
  };
  CHECK(all_nan([](const Tensor& x) { return vector_norm(x); }));
  CHECK(all_nan([](const Tensor& x) { return exp(vector_norm(x)); }));
  CHECK(all_nan([](const Tensor& x) { return standard_deviation(x); }));
  CHECK(all_nan([](const Tensor& x) { return square(vector_norm(x, 3)); }));
  // x |x| and |x| |y| have none either, though the slope of the norm's cotangent is 0 or finite.
  CHECK(all_nan([](const Tensor& x) { return mul(sum(x), vector_norm(x)); }));
  const auto product = [](const Tensor& x) {
    const Tensor n = vector_norm(reshape(x, {2, 1}), 2, {-1});  // of each element
    return mul(select(n, 0, 0), select(n, 0, 1));
  };
  CHECK(all_nan(product));
  // This one has, but each factor is a number of its own to the other.
  CHECK(all_nan([](const Tensor& x) { return mul(vector_norm(x), vector_norm(x)); }));
  // A norm without weight has the derivatives of 0.
  CHECK(hessian([](const Tensor& x) { return mul(vector_norm(x), 0); }, origin) ==
        std::vector<double>(4, 0.0));
}

TEMPLATE_TEST_CASE("norms of rows whose squares do not fit", "[fault-12]", float, double) {
  constexpr bool wide = sizeof(TestType) == 8;
  const DType dtype = dtype_of<TestType>;
  const double huge = wide ? 1e200 : 1e19;
  const double tiny = wide ? 1e-200 : 1e-25;
  const double tolerance = wide ? 1e-15 : 2e-7;
  const double rms[] = {.28284271247461900976, .56568542494923801952, .84852813742385702928,
                        1.69705627484771405856};
  const double layer[] = {-1.06904496764969753, -.53452248382484876937, 0, 1.60356745147454630810};
  for (const bool fused : {true, false}) {
    std::optional<NoFusion> guard;
    if (!fused) guard.emplace();
    for (const double unit : {huge, tiny}) {
      const Tensor x = mul(cast(tensor<double>({1, 2, 3, 6}), dtype), unit);
      const auto y = rms_norm(x, {4}, {}, 0).template to_vector<TestType>();
      const auto z = layer_norm(x, {4}, {}, {}, 0).template to_vector<TestType>();
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(y[i] == Approx(rms[i]).epsilon(tolerance));
        CHECK(z[i] == Approx(layer[i]).margin(4 * tolerance));
      }
    }
  }
}

TEST_CASE("fused layer_norm of long rows with a large mean", "[fault-13]") {
  struct Case {
    std::int64_t width;
    double base;
  };
  for (const Case c : {Case{32768, 1e7}, Case{262144, 1e6}, Case{262144, 1e7}, Case{1000, 16000000}}) {
    Generator generator(3);
    const Tensor x = add(mul(randn({1, c.width}, generator), 4), c.base);
    const auto values = x.to_vector<float>();
    Quad mean = 0;
    for (const float v : values) mean += static_cast<Quad>(v) / c.width;
    Quad variance = 0;
    for (const float v : values)
      variance += (static_cast<Quad>(v) - mean) * (static_cast<Quad>(v) - mean) / c.width;
    const Quad r = 1 / sqrtq(variance + quad(1e-5));
    const auto y = layer_norm(x, {c.width}).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      worst = std::max(worst, ulps_off<float>(y[i], (static_cast<Quad>(values[i]) - mean) * r, quad(1)));
    INFO(c.width << " " << c.base);
    CHECK(worst <= 8);
  }
}

TEST_CASE("cross entropy keeps the tail of a row that is sure", "[fault-9]") {
  for (const bool fused : {true, false}) {
    std::optional<NoFusion> guard;
    if (!fused) guard.emplace();
    Tensor x = tensor<float>({20, 0}).set_requires_grad();
    const Tensor l = cross_entropy(x, full({}, 0, DType::i64));
    const Quad wanted = log1pq(expq(-20));
    CHECK(ulps_off<float>(l.item<float>(), wanted) <= 8);  // 2.0611536e-9
    const Quad share = expq(-20) / (1 + expq(-20));
    const auto g = grad(l, x).to_vector<float>();
    CHECK(ulps_off<float>(g[0], -share) <= 8);
    CHECK(ulps_off<float>(g[1], share) <= 8);
  }
}

TEST_CASE("addmm does not read what its factors ignore", "[fault-18]") {
  const double nan = std::nan("");
  Tensor c = full({2, 2}, nan).set_requires_grad();
  Tensor a = tensor<float>({1, 2, 3, 4});
  a = reshape(a, {2, 2}).set_requires_grad();
  Tensor b = reshape(tensor<float>({1, 0, 0, 1}), {2, 2}).set_requires_grad();
  const Tensor product = addmm(c, a, b, 0, 2);
  CHECK(product.to_vector<float>() == std::vector<float>{2, 4, 6, 8});
  CHECK(grad(sum(product), c).to_vector<float>() == std::vector<float>(4, 0.0f));
  for (const double bad : {nan, infinity}) {
    Tensor p = full({2, 2}, bad).set_requires_grad();
    Tensor q = full({2, 2}, bad).set_requires_grad();
    Tensor d = ones({2, 2}).set_requires_grad();
    const Tensor y = addmm(d, p, q, 3, 0);
    CHECK(y.to_vector<float>() == std::vector<float>(4, 3.0f));
    const std::vector<Tensor> inputs{d, p, q};
    const Tensor total = sum(y);
    const auto g = grad(std::span(&total, 1), inputs);
    CHECK(g[0].to_vector<float>() == std::vector<float>(4, 3.0f));
    CHECK(g[1].to_vector<float>() == std::vector<float>(4, 0.0f));
    CHECK(g[2].to_vector<float>() == std::vector<float>(4, 0.0f));
  }
}
