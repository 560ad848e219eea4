#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <heed/ops/attention/kernels/scalar_row.h>

namespace heed::kernels {
namespace {

template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  T total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

// The larger one, or the NaN if one is NaN, unlike std::max.
template <class T>
T larger(T a, T b) {
  return a > b || std::isnan(a) ? a : b;
}

template <class T>
struct OpenKey {
  std::int64_t key = 0;
  T logit = 0;
  T slope = 1;  // d logit / d (scale · q·k), of the softcap
  T weight = 0;
};

template <class T>
struct Row {
  std::vector<OpenKey<T>> keys;
  T max = -std::numeric_limits<T>::infinity();            // sink included
  T largest_logit = -std::numeric_limits<T>::infinity();  // sink left out
  T sum = 0;
  T moment = 0;
};

// The logit of an open pair.
template <class T>
OpenKey<T> open_key(const AttentionHead<T>& h, std::int64_t i, std::int64_t j) {
  OpenKey<T> open{.key = j, .logit = h.scale * dot(h.q[i], h.k[j], h.size)};
  if (h.softcap > 0) {
    const T t = std::tanh(open.logit / h.softcap);
    open.logit = h.softcap * t;
    open.slope = 1 - t * t;
  }
  if (h.bias.data != nullptr) open.logit += h.bias[i][j];
  if (h.slope != 0) open.logit -= h.slope * static_cast<T>(std::abs(h.position(i) - static_cast<double>(j)));
  return open;
}

// Logits and weights of the open keys of a query.
template <class T>
Row<T> softmax_of(const AttentionHead<T>& h, std::int64_t i) {
  constexpr T closed = -std::numeric_limits<T>::infinity();
  Row<T> row;
  for (std::int64_t j = h.begin[i]; j < h.end[i]; ++j) {
    if (!attention_open(h, i, j)) continue;
    row.keys.push_back(open_key(h, i, j));
    row.largest_logit = larger(row.keys.back().logit, row.largest_logit);
  }
  row.max = h.has_sink ? larger(row.largest_logit, h.sink) : row.largest_logit;
  const T shift = row.max == closed ? T(0) : row.max;
  const auto add = [&](T logit) {
    const T e = std::exp(logit - shift);
    row.sum += e;
    if (e != 0) row.moment += e * (logit - shift);
    return e;
  };
  for (OpenKey<T>& open : row.keys) open.weight = add(open.logit);
  if (h.has_sink) add(h.sink);
  if (row.sum != 0) {
    for (OpenKey<T>& open : row.keys) open.weight /= row.sum;
  }
  return row;
}

template <class T>
T keep_factor(const AttentionHead<T>& h, std::int64_t i, std::int64_t j) {
  return h.keep.data == nullptr ? T(1) : h.keep[i][j] ? h.keep_scale : T(0);
}

}  // namespace

template <class T>
bool attention_open(const AttentionHead<T>& h, std::int64_t i, std::int64_t j) {
  if (j < h.begin[i] || j >= h.end[i]) return false;
  if (h.open.data != nullptr && !h.open[i][j]) return false;
  return h.bias.data == nullptr || h.bias[i][j] != -std::numeric_limits<T>::infinity();
}

template <class T>
void attention_row_forward(const AttentionHead<T>& h, std::int64_t i, Rows<T> output,
                           const AttentionRows<T>& rows, Rows<T> weights) {
  const Row<T> row = softmax_of(h, i);
  rows.max[i] = row.max;
  rows.sum[i] = row.sum;
  if (rows.moment != nullptr) rows.moment[i] = row.moment;
  if (rows.largest_logit != nullptr) rows.largest_logit[i] = row.largest_logit;
  std::fill_n(output[i], h.value_size, T(0));
  if (weights.data != nullptr) std::fill_n(weights[i], h.keys, T(0));
  for (const OpenKey<T>& open : row.keys) {
    if (weights.data != nullptr) weights[i][open.key] = open.weight;
    const T weight = open.weight * keep_factor(h, i, open.key);
    for (std::int64_t c = 0; c < h.value_size; ++c) output[i][c] += weight * h.v[open.key][c];
  }
}

template <class T>
void attention_row_backward(const AttentionHead<T>& h, std::int64_t i, const T* d_output, T d_lse,
                            const AttentionGradients<T>& g) {
  const Row<T> row = softmax_of(h, i);
  // dP = (dO vᵀ) ⊙ keep,  Δ = Σ P dP,  dS = P ⊙ (dP − Δ + dlse)
  std::vector<T> dp;
  T delta = -d_lse;
  for (const OpenKey<T>& open : row.keys) {
    dp.push_back(dot(d_output, h.v[open.key], h.value_size) * keep_factor(h, i, open.key));
    delta += open.weight * dp.back();
  }
  if (g.dq.data != nullptr) std::fill_n(g.dq[i], h.size, T(0));
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    const OpenKey<T>& open = row.keys[n];
    const T ds = open.weight * (dp[n] - delta);
    const T scaled = ds * open.slope * h.scale;
    if (g.logits.data != nullptr) g.logits[i][open.key] = ds;
    if (g.dv.data != nullptr) {
      const T weight = open.weight * keep_factor(h, i, open.key);
      for (std::int64_t c = 0; c < h.value_size; ++c) g.dv[open.key][c] += weight * d_output[c];
    }
    for (std::int64_t c = 0; c < h.size; ++c) {
      if (g.dk.data != nullptr) g.dk[open.key][c] += scaled * h.q[i][c];
      if (g.dq.data != nullptr) g.dq[i][c] += scaled * h.k[open.key][c];
    }
  }
}

#define HEED_ATTENTION_ROW_FOR(T)                                                          \
  template bool attention_open(const AttentionHead<T>&, std::int64_t, std::int64_t);       \
  template void attention_row_forward(const AttentionHead<T>&, std::int64_t, Rows<T>,      \
                                      const AttentionRows<T>&, Rows<T>);                   \
  template void attention_row_backward(const AttentionHead<T>&, std::int64_t, const T*, T, \
                                       const AttentionGradients<T>&);
HEED_ATTENTION_ROW_FOR(float)
HEED_ATTENTION_ROW_FOR(double)
#undef HEED_ATTENTION_ROW_FOR

}  // namespace heed::kernels
