#include <heed/ops/attention/kernels/blocks.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/tile-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// Running softmax of one block of queries: lanes are queries.
template <class T>
struct Softmax {
  T max[block], sum[block], moment[block];
  T* sums;           // Σ weights · v so far [value_size][64]
  T unusual[block];  // 0, or NaN once a logit or result was not finite
};

// Folds the logits of vector `vector` of a panel into the softmax; s becomes exp(s − max), zeros where closed.
template <bool kMoment, class T>
HWY_INLINE void fold(T* s, const PanelBits& panel, std::int64_t lane, int vector, std::int64_t value_size,
                     Softmax<T>& state) {
  const hn::ScalableTag<T> d;
  const std::int64_t at = lane + vector * Panel<T>::vector;
  const auto closed = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto former = hn::LoadU(d, state.max + at);
  auto max = former;
  auto unusual = hn::LoadU(d, state.unusual + at);
  for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t j = begin; j < end; ++j) {
      auto x = hn::LoadU(d, s + j * block + at);
      auto open = x;
      if constexpr (masked.value) {
        const auto mask = lane_mask(d, panel.lanes[j], vector);
        open = hn::IfThenElseZero(mask, x);
        x = hn::IfThenElse(mask, x, closed);
        hn::StoreU(x, d, s + j * block + at);
      }
      max = hn::Max(max, x);
      unusual = hn::MulAdd(open, hn::Zero(d), unusual);
    }
  });
  hn::StoreU(unusual, d, state.unusual + at);
  // Rows without an open key so far have max −inf: any finite shift does.
  const auto shift = hn::IfThenElse(hn::Eq(max, closed), hn::Zero(d), max);
  auto sum = hn::LoadU(d, state.sum + at);
  auto moment = kMoment ? hn::LoadU(d, state.moment + at) : hn::Zero(d);
  if (!hn::AllFalse(d, hn::Gt(max, former))) {
    const auto change = hn::IfThenElse(hn::Eq(former, closed), hn::Zero(d), hn::Sub(former, shift));
    const auto factor = exp_share(d, change);
    if (kMoment) moment = hn::Mul(factor, hn::MulAdd(change, sum, moment));
    sum = hn::Mul(sum, factor);
    for (std::int64_t c = 0; c < value_size; ++c) {
      T* x = state.sums + c * block + at;
      hn::StoreU(hn::Mul(hn::LoadU(d, x), factor), d, x);
    }
    hn::StoreU(max, d, state.max + at);
  }
  for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t j = begin; j < end; ++j) {
      const auto x = hn::Sub(hn::LoadU(d, s + j * block + at), shift);
      auto e = exp_share(d, x);
      auto term = hn::Mul(e, x);
      if constexpr (masked.value) {  // closed pairs are −inf, which exp ends before
        const auto open = hn::Gt(x, hn::Set(d, share_end<T>));
        e = hn::IfThenElseZero(open, e);
        term = hn::IfThenElseZero(open, term);
      }
      hn::StoreU(e, d, s + j * block + at);
      sum = hn::Add(sum, e);
      if (kMoment) moment = hn::Add(moment, term);
    }
  });
  hn::StoreU(sum, d, state.sum + at);
  if (kMoment) hn::StoreU(moment, d, state.moment + at);
}

template <class T>
HWY_INLINE void drop(const Block<T>& b, std::int64_t key, std::int64_t keys, std::int64_t lane,
                     const PanelBits& panel, T* s) {
  const hn::ScalableTag<T> d;
  std::uint32_t kept[block];
  b.template kept<Panel<T>::lanes>(key, keys, lane, kept);
  for (std::int64_t j = panel.begin; j < panel.end; ++j) {
    for (int v = 0; v < Panel<T>::vectors; ++v) {
      T* x = s + j * block + lane + v * Panel<T>::vector;
      hn::StoreU(hn::IfThenElseZero(lane_mask(d, kept[j], v), hn::LoadU(d, x)), d, x);
    }
  }
}

// The sink joins the sum; then results leave, turned back into rows.
template <class T>
HWY_INLINE std::uint64_t finish(const Block<T>& b, Softmax<T>& state, Rows<T> output,
                                const AttentionRows<T>& rows) {
  const AttentionHead<T>& h = b.head;
  std::uint64_t odd = 0;
  for (std::int64_t i = 0; i < b.count; ++i) {
    const std::int64_t q = b.first + i;
    T max = state.max[i], sum = state.sum[i], moment = state.moment[i], factor = h.keep_scale;
    if (rows.top != nullptr) rows.top[q] = max;
    if (h.has_sink) {
      const T top = std::max(max, h.sink);
      if (top > -std::numeric_limits<T>::infinity()) {
        const T shrink = sum == 0 ? T(0) : std::exp(max - top);
        const T e = std::exp(h.sink - top);
        const T down = sum == 0 ? T(0) : max - top;
        moment = shrink * (moment + down * sum) + (e == 0 ? T(0) : e * (h.sink - top));
        sum = shrink * sum + e;
        factor *= shrink;
        max = top;
      }
    }
    rows.max[q] = max;
    rows.sum[q] = sum;
    if (rows.moment != nullptr) rows.moment[q] = moment;
    state.sum[i] = sum == 0 ? T(0) : factor / sum;
  }
  constexpr std::int64_t strip = 16;  // values at a time, so that the rows they leave for stay in the cache
  for (std::int64_t c = 0; c < h.value_size; c += strip) {
    const std::int64_t n = std::min(strip, h.value_size - c);
    for (std::int64_t r = 0; r < n; ++r) {
      T* row = state.sums + (c + r) * block;
      for (std::int64_t i = 0; i < block; ++i) {
        row[i] *= i < b.count ? state.sum[i] : T(0);
        state.unusual[i] += row[i] * T(0);
      }
    }
    transpose(output[b.first] + c, output.stride, state.sums + c * block, block, n, b.count, T(1));
  }
  for (std::int64_t i = 0; i < b.count; ++i) odd |= static_cast<std::uint64_t>(!(state.unusual[i] == 0)) << i;
  return odd;
}

template <class T>
HWY_INLINE std::uint64_t forward_of(const AttentionHead<T>& h, std::int64_t first, Rows<T> output,
                                    const AttentionRows<T>& rows, T* scratch) {
  using P = Panel<T>;
  const Block<T> b(h, first, 0);
  T* q_turned = scratch;
  Softmax<T> state;
  state.sums = q_turned + h.size * block;
  T* s = state.sums + h.value_size * block;
  std::fill_n(q_turned, h.size * block + h.value_size * block, T(0));
  transpose(q_turned, block, h.q[first], h.q.stride, b.count, h.size, h.scale);
  std::fill_n(state.max, block, -std::numeric_limits<T>::infinity());
  std::fill_n(state.sum, block, T(0));
  std::fill_n(state.moment, block, T(0));
  std::fill_n(state.unusual, block, T(0));

  TileBits tile;
  PanelBits panel;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    const std::int64_t keys = std::min(block, h.keys - key);
    b.bits(key, keys, tile);
    if (tile.any == 0) continue;
    for (std::int64_t lane = 0; lane < block; lane += P::lanes) {
      if (!panel_bits<P::lanes>(tile, keys, lane, panel)) continue;
      panel_logits<T>(b, key, lane, panel, q_turned, s, nullptr);
      for (int v = 0; v < P::vectors; ++v) {
        if (rows.moment != nullptr) {
          fold<true>(s, panel, lane, v, h.value_size, state);
        } else {
          fold<false>(s, panel, lane, v, h.value_size, state);
        }
      }
      if (h.keep.data != nullptr) drop(b, key, keys, lane, panel, s);
      product(ByColumns(), h.value_size, state.sums + lane, h.v[key + panel.begin], h.v.stride,
              s + panel.begin * block + lane, block, panel.end - panel.begin, true);
    }
  }
  return finish(b, state, output, rows);
}

template <class T>
HWY_INLINE void weights_of(const AttentionHead<T>& h, std::int64_t first, const AttentionRows<T>& rows,
                           Rows<T> weights, T* scratch) {
  using P = Panel<T>;
  const hn::ScalableTag<T> d;
  const Block<T> b(h, first, 0);
  T* q_turned = scratch;
  T* s = q_turned + h.size * block;
  std::fill_n(q_turned, h.size * block, T(0));
  transpose(q_turned, block, h.q[first], h.q.stride, b.count, h.size, h.scale);
  T shift[block], factor[block];
  for (std::int64_t i = 0; i < block; ++i) {
    const bool live = i < b.count && rows.sum[first + i] != 0;
    shift[i] = live ? rows.max[first + i] : T(0);
    factor[i] = live ? T(1) / rows.sum[first + i] : T(0);
  }
  for (std::int64_t i = 0; i < b.count; ++i) std::fill_n(weights[first + i], h.keys, T(0));

  TileBits tile;
  PanelBits panel;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    const std::int64_t keys = std::min(block, h.keys - key);
    b.bits(key, keys, tile);
    if (tile.any == 0) continue;
    for (std::int64_t lane = 0; lane < b.count; lane += P::lanes) {
      if (!panel_bits<P::lanes>(tile, keys, lane, panel)) continue;
      panel_logits<T>(b, key, lane, panel, q_turned, s, nullptr);
      const bool full = panel.full();
      for (std::int64_t j = panel.begin; j < panel.end; ++j) {
        for (int v = 0; v < P::vectors; ++v) {
          const std::int64_t at = lane + v * P::vector;
          T* x = s + j * block + at;
          const auto e = exp_share(d, hn::Sub(hn::LoadU(d, x), hn::LoadU(d, shift + at)));
          const auto p = hn::Mul(e, hn::LoadU(d, factor + at));
          hn::StoreU(full ? p : hn::IfThenElseZero(lane_mask(d, panel.lanes[j], v), p), d, x);
        }
      }
      transpose(weights[first + lane] + key + panel.begin, weights.stride, s + panel.begin * block + lane,
                block, panel.end - panel.begin, std::min<std::int64_t>(P::lanes, b.count - lane), T(1));
    }
  }
}

#define HEED_ATTENTION_FORWARD_FOR(T, S)                                                           \
  std::uint64_t forward_##S(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,      \
                            const AttentionRows<T>& rows, T* scratch) {                            \
    return forward_of(head, first, output, rows, scratch);                                         \
  }                                                                                                \
  void weights_##S(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows, \
                   Rows<T> weights, T* scratch) {                                                  \
    weights_of(head, first, rows, weights, scratch);                                               \
  }
HEED_ATTENTION_FORWARD_FOR(float, f32)
HEED_ATTENTION_FORWARD_FOR(double, f64)
#undef HEED_ATTENTION_FORWARD_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_ATTENTION_FORWARD(T, S)                                                              \
  HWY_EXPORT(forward_##S);                                                                               \
  HWY_EXPORT(weights_##S);                                                                               \
  template <>                                                                                            \
  std::uint64_t attention_forward(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,      \
                                  const AttentionRows<T>& rows, T* scratch) {                            \
    return HWY_DYNAMIC_DISPATCH(forward_##S)(head, first, output, rows, scratch);                        \
  }                                                                                                      \
  template <>                                                                                            \
  void attention_weights(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows, \
                         Rows<T> weights, T* scratch) {                                                  \
    HWY_DYNAMIC_DISPATCH(weights_##S)(head, first, rows, weights, scratch);                              \
  }
HEED_EXPORT_ATTENTION_FORWARD(float, f32)
HEED_EXPORT_ATTENTION_FORWARD(double, f64)
#undef HEED_EXPORT_ATTENTION_FORWARD

}  // namespace heed::kernels
#endif
