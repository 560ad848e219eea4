// Rows of attention where one key has nearly all of the weight. The cotangent of its logit is the difference
// of two numbers that are nearly equal; what is left must be as exact as the weights of the other keys are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/slice.h>

using namespace heed;

namespace {

using Real = long double;
using Matrix = std::vector<std::vector<Real>>;

Matrix matrix(const Tensor& x, std::int64_t rows, std::int64_t columns, std::int64_t at) {
  const Tensor wide = cast(x.detach(), DType::f64);
  const auto all = wide.to_vector<double>();
  Matrix m(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < columns; ++c) {
      m[static_cast<std::size_t>(i)].push_back(all[static_cast<std::size_t>((at * rows + i) * columns + c)]);
    }
  }
  return m;
}

Real dot(const std::vector<Real>& a, const std::vector<Real>& b) {
  Real total = 0;
  for (std::size_t c = 0; c < a.size(); ++c) total += a[c] * b[c];
  return total;
}

Real length(const std::vector<Real>& a) { return std::sqrt(dot(a, a)); }

struct Problem {
  Tensor q, k, v, bias, d_output, keep;
  std::optional<double> sink;
  double softcap = 0, dropout = 0;
  bool causal = false;
};

// One head by the definition, with the error that each gradient may have by the rule of saturated rows.
struct Reference {
  Matrix dq, dk, ds;                     // [Tq, D], [Tk, D], [Tq, Tk]
  std::vector<Real> dq_error, dk_error;  // of the length of a row
  Matrix ds_error;
};

struct Row {
  std::vector<Real> weight, slope, dp, e;  // of each key: P, slope of the softcap, dP, E
  std::vector<Real> terms;                 // E with Σ P |dO v| for |dO O|, where values cancel in a mixture
  Real sink = 0, sink_e = 0;               // weight of the sink, and its E
  std::size_t likeliest = 0;
};

Row row_of(const Problem& p, const Matrix& k, const Matrix& v, const std::vector<Real>& q,
           const std::vector<Real>& d_output, const std::vector<Real>& bias, const std::vector<bool>& open,
           const std::vector<Real>& keep) {
  const std::size_t keys = k.size();
  const Real scale = 1 / std::sqrt(static_cast<Real>(q.size()));
  Row row{.weight = std::vector<Real>(keys, 0),
          .slope = std::vector<Real>(keys, 1),
          .dp = {},
          .e = {},
          .terms = {}};
  std::vector<Real> logit(keys);
  Real largest = p.sink ? static_cast<Real>(*p.sink) : -std::numeric_limits<Real>::infinity();
  for (std::size_t j = 0; j < keys; ++j) {
    logit[j] = scale * dot(q, k[j]);
    if (p.softcap > 0) {
      const Real cap = p.softcap, t = std::tanh(logit[j] / cap);
      logit[j] = cap * t, row.slope[j] = 1 - t * t;
    }
    logit[j] += bias[j];
    if (open[j]) largest = std::max(largest, logit[j]);
  }
  Real sum = p.sink ? std::exp(static_cast<Real>(*p.sink) - largest) : 0;
  row.sink = sum;
  for (std::size_t j = 0; j < keys; ++j) sum += row.weight[j] = open[j] ? std::exp(logit[j] - largest) : 0;
  row.sink /= sum;
  std::vector<Real> output(d_output.size(), 0);
  for (std::size_t j = 0; j < keys; ++j) {
    row.weight[j] /= sum;
    row.dp.push_back(keep[j] * dot(d_output, v[j]));
    for (std::size_t c = 0; c < output.size(); ++c) output[c] += row.weight[j] * keep[j] * v[j][c];
    if (row.weight[j] > row.weight[row.likeliest]) row.likeliest = j;
  }
  Real of_output = 0, of_mixture = 0;
  std::vector<Real> of_values;
  for (std::size_t c = 0; c < output.size(); ++c) of_output += std::abs(d_output[c] * output[c]);
  for (std::size_t j = 0; j < keys; ++j) {
    Real of_value = 0;
    for (std::size_t c = 0; c < output.size(); ++c) of_value += std::abs(d_output[c] * keep[j] * v[j][c]);
    row.e.push_back(row.weight[j] * (of_value + of_output));
    of_mixture += row.weight[j] * of_value;
    of_values.push_back(of_value);
  }
  row.sink_e = row.sink * of_output;
  for (std::size_t j = 0; j < keys; ++j) row.terms.push_back(row.weight[j] * (of_values[j] + of_mixture));
  return row;
}

// dS_j = P_j Σ_l P_l (dP_j − dP_l) + P_j P_sink dP_j: the formula without a difference of equal numbers.
Real d_logit(const Row& row, std::size_t j) {
  Real total = row.sink * row.dp[j];
  for (std::size_t l = 0; l < row.dp.size(); ++l) total += row.weight[l] * (row.dp[j] - row.dp[l]);
  return row.weight[j] * total;
}

Reference reference(const Problem& p, std::int64_t head) {
  const std::int64_t queries = p.q.size(-2), keys = p.k.size(-2);
  const Matrix q = matrix(p.q, queries, p.q.size(-1), head), k = matrix(p.k, keys, p.k.size(-1), head),
               v = matrix(p.v, keys, p.v.size(-1), head),
               d_output = matrix(p.d_output, queries, p.v.size(-1), head),
               bias = matrix(p.bias, queries, keys, head);
  const Matrix kept = p.keep.defined() ? matrix(p.keep, queries, keys, head) : Matrix();
  const std::vector<Real> none(q[0].size(), 0), no_key(k.size(), 0);
  Reference r{.dq = Matrix(q.size(), none),
              .dk = Matrix(k.size(), none),
              .ds = Matrix(q.size(), no_key),
              .dq_error = std::vector<Real>(q.size(), 0),
              .dk_error = no_key,
              .ds_error = Matrix(q.size(), no_key)};
  const Real scale = 1 / std::sqrt(static_cast<Real>(q[0].size()));
  for (std::size_t i = 0; i < q.size(); ++i) {
    std::vector<bool> open;
    std::vector<Real> keep;
    for (std::size_t j = 0; j < k.size(); ++j) {
      open.push_back(!p.causal ||
                     static_cast<std::int64_t>(j) <= static_cast<std::int64_t>(i) + keys - queries);
      keep.push_back(kept.empty() ? 1 : kept[i][j] / (1 - static_cast<Real>(p.dropout)));
    }
    const Row row = row_of(p, k, v, q[i], d_output[i], bias[i], open, keep);
    Real of_others = row.sink_e, terms_of_others = row.sink_e;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (j == row.likeliest) continue;
      of_others += row.e[j];
      terms_of_others += row.terms[j];
    }
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!open[j]) continue;
      const Real ds = d_logit(row, j), scaled = scale * row.slope[j] * ds;
      r.ds[i][j] = ds;
      r.ds_error[i][j] = j == row.likeliest ? terms_of_others : row.terms[j];
      r.dk_error[j] += scale * (j == row.likeliest ? of_others : row.e[j]) * length(q[i]);
      r.dq_error[i] += scale * (j == row.likeliest ? row.sink_e * length(k[j])
                                                   : row.e[j] * (length(k[j]) + length(k[row.likeliest])));
      for (std::size_t c = 0; c < none.size(); ++c) {
        r.dq[i][c] += scaled * k[j][c];
        r.dk[j][c] += scaled * q[i][c];
      }
    }
  }
  return r;
}

AttentionOptions options_of(const Problem& p) {
  AttentionOptions options{.mask = AttentionMask::bias(p.bias)};
  if (p.causal) options.mask = options.mask & AttentionMask::causal();
  options.softcap = p.softcap;
  options.dropout_keep = p.keep;
  options.dropout = p.dropout;
  if (p.sink) options.sink = full({p.q.size(-3)}, *p.sink, p.q.dtype());
  return options;
}

// The length of a row's error is at most `tolerance` times the bound. Below the normal numbers kernels may
// flush: `smallest` is added once for each term of a row.
template <class T>
void require_within(const Matrix& actual, const Matrix& expected, const std::vector<Real>& bounds,
                    Real tolerance, const std::string& name) {
  const Real smallest = std::numeric_limits<T>::min();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::vector<Real> error;
    for (std::size_t c = 0; c < expected[i].size(); ++c) error.push_back(actual[i][c] - expected[i][c]);
    INFO(name << " of row " << i << ", error over bound " << static_cast<double>(length(error) / bounds[i]));
    REQUIRE(static_cast<double>(length(error)) <=
            static_cast<double>(tolerance * bounds[i] + 1000 * smallest));
  }
}

template <class T>
void check_problem(const Problem& p, Real tolerance) {
  for (Tensor x : {p.q, p.k, p.bias}) x.set_requires_grad();
  const Tensor y = attention(p.q, p.k, p.v, options_of(p)).output;
  const std::vector<Tensor> x{p.q, p.k, p.bias};
  const auto g = grad(std::span(&y, 1), x, {.grad_outputs = {p.d_output}});
  const std::int64_t queries = p.q.size(-2), keys = p.k.size(-2), size = p.q.size(-1);
  for (std::int64_t head = 0; head < p.q.size(-3); ++head) {
    const Reference r = reference(p, head);
    require_within<T>(matrix(g[0], queries, size, head), r.dq, r.dq_error, tolerance, "dq");
    require_within<T>(matrix(g[1], keys, size, head), r.dk, r.dk_error, tolerance, "dk");
    const Matrix ds = matrix(g[2], queries, keys, head);
    for (std::size_t i = 0; i < ds.size(); ++i) {
      for (std::size_t j = 0; j < ds[i].size(); ++j) {
        INFO("query " << i << ", key " << j);
        require_within<T>({{ds[i][j]}}, {{r.ds[i][j]}}, {r.ds_error[i][j]}, tolerance, "ds");
      }
    }
  }
}

template <class T>
Problem random_problem(std::uint64_t seed) {
  Generator generator(seed);
  const DType dtype = dtype_of<T>;
  const auto below = [&](std::int64_t n) { return randint(0, n, {}, generator).item<std::int64_t>(); };
  const std::int64_t lengths[] = {1, 2, 5, 17, 64, 70, 130};
  const std::int64_t queries = lengths[below(7)], keys = below(2) == 0 ? queries : lengths[below(7)];
  const std::int64_t size = 1 + below(20), value_size = 1 + below(20);
  Problem p;
  // Logits of a spread between 1 and 8: some rows share their weight, most have one key above all others.
  p.q = mul(randn({1, 2, queries, size}, generator, dtype), 1 + below(8));
  p.k = randn({1, 2, keys, size}, generator, dtype);
  p.v = randn({1, 2, keys, value_size}, generator, dtype);
  p.bias = randn({1, 2, queries, keys}, generator, dtype);
  p.d_output = randn({1, 2, queries, value_size}, generator, dtype);
  p.causal = queries <= keys && below(2) == 0;
  if (below(4) == 0) p.sink = static_cast<double>(below(7)) - 3;
  if (below(4) == 0) p.softcap = 20;
  if (below(4) == 0) {
    p.dropout = 0.25;
    p.keep = ge(rand({1, 2, queries, keys}, generator), 0.25);
  }
  return p;
}

}  // namespace

// f32: the bound of the rule. f64: as many units in the last place, 1e-5 · 2^-29.
TEMPLATE_TEST_CASE("gradients of saturated rows are as exact as the weights of the other keys", "[fault-50]",
                   float, double) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    check_problem<TestType>(random_problem<TestType>(seed), sizeof(TestType) == 4 ? 1e-5L : 1.9e-14L);
  }
}

TEMPLATE_TEST_CASE("a query with one open key gives exact zeros", "[fault-50]", float, double) {
  using T = TestType;
  Generator generator(5);
  for (const std::int64_t time : {1, 2, 65, 130}) {
    std::vector<Tensor> x;
    for (int i = 0; i < 3; ++i)
      x.push_back(randn({1, 2, time, 8}, generator, dtype_of<T>).set_requires_grad());
    const auto gradients = [&](const AttentionMask& mask, const Tensor& d_output) {
      const Tensor y = attention(x[0], x[1], x[2], {.mask = mask}).output;
      return grad(std::span(&y, 1), x, {.grad_outputs = {d_output}});
    };
    const Tensor d_output = randn({1, 2, time, 8}, generator, dtype_of<T>);
    const auto alone = gradients(AttentionMask::window(0, 0), d_output);
    for (const std::size_t i : {0, 1}) {
      for (const T g : alone[i].template to_vector<T>()) REQUIRE(g == 0);
    }
    const auto first = gradients(AttentionMask::causal(), d_output);
    for (const T g : slice(first[0], 2, 0, 1).template to_vector<T>()) REQUIRE(g == 0);
  }
}

TEST_CASE("a key far behind the likeliest leaves what it is worth", "[fault-50]") {
  // Logits 0 and −50: dS = ± P (1 − P) with P = e^−50 / (1 + e^−50) and dP = (1, 0).
  for (const std::int64_t queries : {1, 2}) {
    Tensor q = full({queries, 1}, 1.0, DType::f32).set_requires_grad();
    Tensor k = tensor<float>({50, 0}, {2, 1}).set_requires_grad();
    const Tensor v = tensor<float>({1, 0}, {2, 1});
    const Tensor y = attention(q, k, v).output;
    const std::vector<Tensor> x{q, k};
    const auto g = grad(std::span(&y, 1), x, {.grad_outputs = {ones({queries, 1})}});
    const double ds = std::exp(-50.0);  // 1.93e-22
    // 50 is exact here, so the error is that of a few roundings.
    for (const float dq : g[0].to_vector<float>()) CHECK(dq == Approx(50 * ds).epsilon(1e-6));
    const auto dk = g[1].to_vector<float>();
    CHECK(dk[0] == Approx(static_cast<double>(queries) * ds).epsilon(1e-6));
    CHECK(dk[1] == Approx(-static_cast<double>(queries) * ds).epsilon(1e-6));
  }
}

TEST_CASE("cotangents of log-sum-exp and sink reach a saturated row whole", "[fault-50]") {
  Generator generator(6);
  Tensor q = mul(randn({1, 2, 70, 8}, generator, DType::f64), 4);
  Tensor k = randn({1, 2, 70, 8}, generator, DType::f64), v = randn({1, 2, 70, 8}, generator, DType::f64);
  const Tensor sink = tensor({1.0, -2.0}), bias = zeros({1, 2, 70, 70}, DType::f64);
  const std::vector<Tensor> x{q, k, v, sink, bias};
  for (Tensor t : x) t.set_requires_grad();
  const Tensor d_output = randn({1, 2, 70, 8}, generator, DType::f64),
               d_lse = randn({1, 2, 70}, generator, DType::f64);
  const auto gradients = [&](bool again) {
    const AttentionResult y =
        attention(q, k, v, {.mask = AttentionMask::bias(bias), .sink = sink, .need_lse = true});
    const std::vector<Tensor> outputs{y.output, y.lse};
    return grad(outputs, x, {.grad_outputs = {d_output, d_lse}, .create_graph = again});
  };
  const auto blocked = gradients(false), composite = gradients(true);  // second order is composite
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = blocked[i].to_vector<double>(), b = composite[i].to_vector<double>();
    // Sums over 70 terms of size 10 in another order.
    for (std::size_t n = 0; n < a.size(); ++n) REQUIRE(a[n] == Approx(b[n]).margin(1e-12));
  }
}
