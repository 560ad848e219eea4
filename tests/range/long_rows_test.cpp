// Norms and losses over rows so long that sums lose their digits if they are formed one element after the
// other, and over rows that are not finite.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/sum.h>

#include "../support/op_case.h"
#include "row_cases.h"

using namespace heed;
using namespace heed::test;

namespace {

std::vector<RowCase> row_cases() {
  std::vector<RowCase> all = norm_cases();
  for (const RowCase& c : loss_cases()) all.push_back(c);
  return all;
}

template <class T>
std::vector<T> row_of(std::size_t n, double mean, double spread) {
  std::vector<T> row(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = std::fmod(0.6180339887498949 * static_cast<double>(i + 1) * 7, 1.0);
    row[i] = static_cast<T>(mean + spread * u);
  }
  return row;
}

// Lines whose element `moved` goes along s.
template <class T>
std::vector<Line> lines_of(const std::vector<std::vector<T>>& operands, std::size_t moved) {
  std::vector<Line> lines(operands.size());
  for (std::size_t o = 0; o < operands.size(); ++o) {
    for (std::size_t i = 0; i < operands[o].size(); ++i)
      lines[o].push_back(number(static_cast<Quad>(operands[o][i]), o == 0 && i == moved ? 1 : 0));
  }
  return lines;
}

template <class T>
void check_long(const RowCase& c, std::size_t n, double mean, double spread) {
  std::vector<std::vector<T>> operands = {row_of<T>(n, mean, spread)};
  if (c.second != Second::none) {
    operands.push_back(row_of<T>(n, 0.125, 0.75));
    if (c.second == Second::like_first) operands[1] = row_of<T>(n, mean, -0.75 * spread);
    if (c.second == Second::zero_or_one) {
      for (T& t : operands[1]) t = t < T(0.5) ? T(0) : T(1);
    }
  }
  std::vector<Tensor> x;
  for (const auto& row : operands)
    x.push_back(from_span<T>(row, {1, static_cast<std::int64_t>(n)}).set_requires_grad());
  const Tensor y = c.function(x);
  const std::vector<T> values = y.template to_vector<T>();
  const Line wanted = c.wanted(lines_of(operands, 0));
  REQUIRE(values.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    worst = std::max(worst, ulps_off<T>(values[i], wanted[i].at[0], wanted[i].size[0]));
  const char* dtype = sizeof(T) == 4 ? "f32" : "f64";
  CAPTURE(c.op, c.name, dtype, n, mean, spread);
  CHECK(worst <= 8);
  // Positive cotangents, whose sums grow.
  const std::vector<T> u(values.size(), T(1.25));
  const std::vector<T> g =
      grad(std::span(&y, 1), std::span(x.data(), 1), {.grad_outputs = {from_span<T>(u, y.shape())}})[0]
          .template to_vector<T>();
  double worst_slope = 0;
  for (const std::size_t moved : {std::size_t{0}, std::size_t{1}, n / 2, n - 1}) {
    Terms sum;
    for (const Terms& v : c.wanted(lines_of(operands, moved))) sum = sum + quad(1.25) * v;
    worst_slope = std::max(worst_slope, ulps_off<T>(g[moved], sum.at[1], sum.size[1]));
  }
  CHECK(worst_slope <= 8);
}

}  // namespace

TEST_CASE("norms and losses keep their digits over long rows") {
  for (const RowCase& c : row_cases()) {
    for (const std::size_t n : {std::size_t{67}, std::size_t{4099}, std::size_t{70001}}) {
      check_long<float>(c, n, 0, 1);
      check_long<double>(c, n, 0, 1);
    }
    check_long<float>(c, 70001, 4e6, 64);
    check_long<double>(c, 4099, 4e14, 64);
  }
}

TEMPLATE_TEST_CASE("gradients of a norm's weight and bias over many rows", "", float, double) {
  using T = TestType;
  constexpr std::int64_t rows = 20011;
  for (const bool center : {true, false}) {
    for (const bool fused : {true, false}) {
      std::optional<NoFusion> guard;
      if (!fused) guard.emplace();
      const std::vector<T> values = row_of<T>(3 * rows, 0.25, 1);
      const Tensor x = from_span<T>(values, {rows, 3});
      Tensor w = ones({3}, x.dtype()).set_requires_grad();
      Tensor b = zeros({3}, x.dtype()).set_requires_grad();
      const Tensor y = center ? layer_norm(x, {3}, w, b) : rms_norm(x, {3}, w);
      backward(sum(y));
      for (std::size_t k = 0; k < 3; ++k) {
        Terms wanted;
        for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
          Line row;
          for (std::size_t i = 0; i < 3; ++i) row.push_back(number(static_cast<Quad>(values[3 * r + i])));
          const Line d = center ? centered(row) : row;
          Terms squares = number(quad(center ? 1e-5 : 1e-6));
          for (const Terms& v : d) squares = squares + quad(1) / 3 * (v * v);
          wanted = wanted + d[k] * power(squares, quad(-0.5));
        }
        INFO(center << " " << fused);
        // Composed, f64 is added up in f64, one row after the other.
        CHECK(ulps_off<T>(w.grad().template to_vector<T>()[k], wanted.at[0], wanted.size[0]) <=
              (fused ? 8 : 64));
        if (center) CHECK(b.grad().template to_vector<T>()[k] == T(rows));
      }
    }
  }
}

TEST_CASE("an element that is NaN reaches the results made of it, and no other row") {
  constexpr std::int64_t rows = 3, n = 5;
  for (const RowCase& c : row_cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const bool fused : {true, false}) {
        std::optional<NoFusion> guard;
        if (!fused) guard.emplace();
        Generator generator(2);
        const Tensor clean = rand({rows, n}, generator, dtype);
        const Tensor second = rand({rows, n}, generator, dtype);
        Tensor bad = add(clean, 0);
        const auto spoil = [&]<class T>(std::type_identity<T>) {
          bad.mutable_data<T>()[n + 1] = std::numeric_limits<T>::quiet_NaN();
        };
        dtype == DType::f32 ? spoil(std::type_identity<float>{}) : spoil(std::type_identity<double>{});
        const auto results = [&](const Tensor& x) {
          std::vector<Tensor> in{x.detach().set_requires_grad()};
          if (c.second != Second::none) in.push_back(second);
          const Tensor y = c.function(in);
          const Tensor g = grad(y, in[0], {.grad_outputs = {ones(y.shape(), dtype)}});
          return std::pair{to_array(y), to_array(g)};
        };
        const auto [y, g] = results(bad);
        const auto [wanted, wanted_g] = results(clean);
        CAPTURE(c.op, c.name, fused);
        const std::size_t m = y.values.size() / rows;
        for (std::size_t i = 0; i < y.values.size(); ++i) {
          if (i / m != 1) CHECK(y.values[i] == wanted.values[i]);
        }
        for (std::size_t i = 0; i < g.values.size(); ++i) {
          if (i / n != 1) CHECK(g.values[i] == wanted_g.values[i]);
        }
        CHECK(std::isnan(y.values[m == 1 ? 1 : m + 1]));
      }
    }
  }
}
