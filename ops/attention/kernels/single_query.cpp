#include <algorithm>
#include <cmath>
#include <limits>

#include <heed/ops/attention/kernels/single_query.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/single_query.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
#include <heed/ops/kernels/product-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// s[j] = scale · q·k_j. Keys are read once, in order.
template <class T>
HWY_INLINE void scaled_products(const AttentionHead<T>& h, const T* q, std::int64_t begin, std::int64_t end,
                                T* s) {
  const hn::ScalableTag<T> d;
  const auto dot = [&](const T* k) HWY_ATTR {
    auto total = hn::Zero(d);
    for_lanes(d, h.size, [&](std::int64_t c, std::size_t count) HWY_ATTR {
      total = hn::MulAdd(load(d, q + c, count), load(d, k + c, count), total);
    });
    return hn::GetLane(hn::SumOfLanes(d, total));
  };
  for (std::int64_t j = begin; j < end; ++j) s[j] = h.scale * dot(h.k[j]);
}

// Softcap and what is added, then −inf where the pair is closed. Returns the largest logit.
template <class T>
HWY_INLINE T finish_logits(const AttentionHead<T>& h, std::int64_t i, std::int64_t begin, std::int64_t end,
                           T* s) {
  const hn::ScalableTag<T> d;
  constexpr T closed = -std::numeric_limits<T>::infinity();
  for_lanes(d, end - begin, [&](std::int64_t at, std::size_t count) HWY_ATTR {
    const std::int64_t j = begin + at;
    auto x = load(d, s + j, count);
    if (h.softcap > 0)
      x = hn::Mul(hn::Tanh(d, hn::Mul(x, hn::Set(d, T(1) / h.softcap))), hn::Set(d, h.softcap));
    if (h.bias.data != nullptr) {
      const auto bias = load(d, h.bias[i] + j, count);
      x = hn::IfThenElse(hn::Eq(bias, hn::Set(d, closed)), bias, hn::Add(x, bias));
    }
    if (h.slope != 0) {
      const auto distance =
          hn::Abs(hn::Sub(hn::Iota(d, static_cast<T>(j)), hn::Set(d, static_cast<T>(h.position(i)))));
      x = hn::NegMulAdd(hn::Set(d, h.slope), distance, x);
    }
    store(x, d, s + j, count);
  });
  if (h.open.data != nullptr) {
    for (std::int64_t j = begin; j < end; ++j) s[j] = h.open[i][j] ? s[j] : closed;
  }
  return row_max(d, s + begin, end - begin);
}

// output = Σ_j weight_j · v_j over the open keys.
template <class T>
HWY_INLINE void weighted_values(const AttentionHead<T>& h, const T* weights, const T* logits,
                                std::int64_t begin, std::int64_t end, T* output) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t n = Panel<T>::vector;
  constexpr std::int64_t most = 4;  // vectors of the result that stay in registers
  constexpr T closed = -std::numeric_limits<T>::infinity();
  for (std::int64_t c = 0; c < h.value_size; c += most * n) {
    const auto count_of = [&](std::int64_t v) {
      return static_cast<std::size_t>(std::clamp<std::int64_t>(h.value_size - c - v * n, 0, n));
    };
    hn::Vec<decltype(d)> sums[most] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (std::int64_t j = begin; j < end; ++j) {
      if (logits[j] == closed) continue;
      const auto w = hn::Set(d, weights[j]);
      for (std::int64_t v = 0; v < most; ++v) {
        if (count_of(v) > 0) sums[v] = hn::MulAdd(w, load(d, h.v[j] + c + v * n, count_of(v)), sums[v]);
      }
    }
    for (std::int64_t v = 0; v < most; ++v) {
      if (count_of(v) > 0) store(sums[v], d, output + c + v * n, count_of(v));
    }
  }
}

// The formula step by step: logits s, weights = exp(s − max) · keep / Σ exp(s − max), and Σ weights · v.
template <class T>
HWY_INLINE bool query_of(const AttentionHead<T>& h, std::int64_t i, T* output, const AttentionRows<T>& rows,
                         T* s) {
  const hn::ScalableTag<T> d;
  constexpr T closed = -std::numeric_limits<T>::infinity();
  const std::int64_t begin = h.begin[i], end = std::max(begin, h.end[i]);
  T* weights = s + h.keys;
  scaled_products(h, h.q[i], begin, end, s);
  const T largest = finish_logits(h, i, begin, end, s);
  const T max = h.has_sink ? std::max(largest, h.sink) : largest;
  const T shift = max == closed ? T(0) : max;
  T sum = exp_sum(d, s + begin, weights + begin, shift, end - begin);
  T moment = 0;
  if (rows.moment != nullptr) {
    for (std::int64_t j = begin; j < end; ++j) moment += weights[j] == 0 ? T(0) : weights[j] * (s[j] - shift);
  }
  if (h.has_sink) {
    const T e = std::exp(h.sink - shift);
    sum += e;
    moment += e == 0 ? T(0) : e * (h.sink - shift);
  }
  rows.max[i] = max;
  rows.sum[i] = sum;
  if (rows.moment != nullptr) rows.moment[i] = moment;
  if (rows.largest_logit != nullptr) rows.largest_logit[i] = largest;
  const T factor = sum == 0 ? T(0) : h.keep_scale / sum;
  for (std::int64_t j = begin; j < end; ++j) {
    weights[j] *= h.keep.data == nullptr || h.keep[i][j] ? factor : T(0);
  }
  weighted_values(h, weights, s, begin, end, output);
  T nonfinite = sum * T(0);  // 0, or NaN once something is not finite
  for (std::int64_t c = 0; c < h.value_size; ++c) nonfinite += output[c] * T(0);
  return nonfinite == 0;
}

#define HEED_ATTENTION_QUERY_FOR(T, S)                                                                      \
  bool query_##S(const AttentionHead<T>& head, std::int64_t query, T* output, const AttentionRows<T>& rows, \
                 T* scratch) {                                                                              \
    return query_of(head, query, output, rows, scratch);                                                    \
  }
HEED_ATTENTION_QUERY_FOR(float, f32)
HEED_ATTENTION_QUERY_FOR(double, f64)
#undef HEED_ATTENTION_QUERY_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_ATTENTION_QUERY(T, S)                                           \
  HWY_EXPORT(query_##S);                                                            \
  template <>                                                                       \
  bool attention_query(const AttentionHead<T>& head, std::int64_t query, T* output, \
                       const AttentionRows<T>& rows, T* scratch) {                  \
    return HWY_DYNAMIC_DISPATCH(query_##S)(head, query, output, rows, scratch);     \
  }
HEED_EXPORT_ATTENTION_QUERY(float, f32)
HEED_EXPORT_ATTENTION_QUERY(double, f64)
#undef HEED_EXPORT_ATTENTION_QUERY

}  // namespace heed::kernels
#endif
