#include <algorithm>
#include <cmath>
#include <limits>

#include <heed/ops/attention/kernels/forward.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/running_softmax-inl.h>
#include <heed/ops/attention/kernels/tile_logits-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// The steps of `update_running_softmax` work on one vector of queries of a panel, whose first lane in the
// block is `at`.

// Closed pairs of s become −inf. Returns the largest logit of each query, the former maximum included.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> close_and_find_max(T* s, const TilePanel& panel, std::int64_t at,
                                                          RunningSoftmax<T>& softmax) {
  const hn::ScalableTag<T> d;
  constexpr int chains = 4;  // so that no comparison waits for the one before
  const auto closed = hn::Set(d, -std::numeric_limits<T>::infinity());
  hn::Vec<decltype(d)> max[chains], nonfinite[chains];
  unrolled<chains>([&](auto c) HEED_INLINE_LAMBDA {
    max[c] = hn::LoadU(d, softmax.max + at);
    nonfinite[c] = hn::LoadU(d, softmax.nonfinite + at);
  });
  const auto note = [&](auto c, hn::Vec<decltype(d)> x, hn::Vec<decltype(d)> open) HEED_INLINE_LAMBDA {
    max[c] = hn::Max(max[c], x);
    nonfinite[c] = hn::MulAdd(open, hn::Zero(d), nonfinite[c]);
  };
  constexpr std::integral_constant<int, 0> first;
  for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
    std::int64_t j = begin;
    for (; !masked.value && j + chains <= end; j += chains) {
      unrolled<chains>([&](auto c) HEED_INLINE_LAMBDA {
        const auto x = hn::LoadU(d, s + (j + c) * stride<T> + at);
        note(c, x, x);
      });
    }
    for (; j < end; ++j) {
      const auto x = hn::LoadU(d, s + j * stride<T> + at);
      if constexpr (masked.value) {
        const auto mask = panel.open->lanes(d, at, j);
        const auto with_closed = hn::IfThenElse(mask, x, closed);
        note(first, with_closed, hn::IfThenElseZero(mask, x));
        hn::StoreU(with_closed, d, s + j * stride<T> + at);
      } else {
        note(first, x, x);
      }
    }
  });
  hn::StoreU(hn::Add(hn::Add(nonfinite[0], nonfinite[1]), hn::Add(nonfinite[2], nonfinite[3])), d,
             softmax.nonfinite + at);
  return hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
}

// s ← exp(s − shift), 0 on closed pairs, and adds it to the sums.
template <bool with_moment, class D, class T>
HWY_INLINE void exp_and_add(D d, hn::Vec<D> shift, T* s, const TilePanel& panel, std::int64_t at,
                            RunningSoftmax<T>& softmax) {
  auto sum = hn::LoadU(d, softmax.sum + at);
  auto moment = with_moment ? hn::LoadU(d, softmax.moment + at) : hn::Zero(d);
  for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t j = begin; j < end; ++j) {
      const auto x = hn::Sub(hn::LoadU(d, s + j * stride<T> + at), shift);
      auto e = exp_share(d, x);
      auto term = hn::Mul(e, x);
      if constexpr (masked.value) {  // closed pairs are −inf, where exp_share is not 0
        const auto open = panel.open->lanes(d, at, j);
        e = hn::IfThenElseZero(open, e);
        term = hn::IfThenElseZero(open, term);
      }
      hn::StoreU(e, d, s + j * stride<T> + at);
      sum = hn::Add(sum, e);
      if (with_moment) moment = hn::Add(moment, term);
    }
  });
  hn::StoreU(sum, d, softmax.sum + at);
  if (with_moment) hn::StoreU(moment, d, softmax.moment + at);
}

// The logits s of a panel join the running softmax and become exp(s − m), 0 on closed pairs.
template <bool with_moment, class T>
HWY_INLINE void update_running_softmax(T* s, const TilePanel& panel, RunningSoftmax<T>& softmax) {
  const hn::ScalableTag<T> d;
  for (int vector = 0; vector < Panel<T>::vectors; ++vector) {
    const std::int64_t at = panel.lane + vector * Panel<T>::vector;
    const auto former = hn::LoadU(d, softmax.max + at);
    const auto max = close_and_find_max(s, panel, at, softmax);
    // Queries without an open key so far have the maximum −inf: any finite shift does.
    const auto none = hn::Eq(max, hn::Set(d, -std::numeric_limits<T>::infinity()));
    const auto shift = hn::IfThenElse(none, hn::Zero(d), max);
    if (!hn::AllFalse(d, hn::Gt(max, former))) {
      rescale_sums<with_moment>(d, former, shift, at, softmax);
      hn::StoreU(max, d, softmax.max + at);
    }
    exp_and_add<with_moment>(d, shift, s, panel, at, softmax);
  }
}

// s ← 0 where dropout does not keep the weight. The sums have it already.
template <class T>
HWY_INLINE void drop_weights(const PairBits& kept, const TilePanel& panel, T* s) {
  const hn::ScalableTag<T> d;
  for (std::int64_t j = panel.begin; j < panel.end; ++j) {
    for (int v = 0; v < Panel<T>::vectors; ++v) {
      const std::int64_t at = panel.lane + v * Panel<T>::vector;
      T* x = s + j * stride<T> + at;
      hn::StoreU(hn::IfThenElseZero(kept.lanes(d, at, j), hn::LoadU(d, x)), d, x);
    }
  }
}

// Attention of 64 queries, tile by tile of 64 keys, with a running softmax. Why queries lie along the lanes,
// and why m and Z are kept for backward rather than m + log Z:
// docs/adr/0004-blocked-attention-keeps-queries-in-lanes.md.
//
//   for each query:  m ← −∞,  Z ← 0,  o ← 0
//   for each tile of 64 keys that is open to some query:
//     for each panel of queries, as many as one product takes:
//       s ← scale · q·k, softcap, bias, ALiBi                 tile_logits
//       m′ ← max(m, largest open s)                           update_running_softmax
//       Z ← Z · exp(m − m′),  o ← o · exp(m − m′),  m ← m′      where the maximum grew
//       p ← exp(s − m), 0 on closed pairs
//       Z ← Z + Σ p                                             before dropout
//       p ← 0 where dropout does not keep the pair            drop_weights
//       o ← o + Σ p v                                         add_to_queries
//   the sink joins m and Z, a logit without a value           join_sink
//   output ← o / Z, times 1 / (1 − dropout); 0 where Z = 0    write_output
//
// With m and Z of each query, backward finds the weights again: P = exp(s − m) / Z.
template <class T>
HWY_INLINE std::uint64_t forward_of(const AttentionHead<T>& h, std::int64_t first, Rows<T> output,
                                    const AttentionRows<T>& rows, const AttentionNext<T>& next, T* scratch) {
  const QueryBlock<T> b(h, first, 0);
  T* q_transposed = scratch;
  T* s = q_transposed + h.size * stride<T>;
  T* values = s + block * stride<T>;
  RunningSoftmax<T> softmax(values + block * padded<T>(h.value_size), h.value_size, block);
  transpose_queries(b.count, {h.q[first], h.q.stride}, h.size, h.scale, q_transposed);

  Tile tile;
  TilePanel panel;
  PairBits kept;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    if (!b.open_tile(key, tile)) continue;
    const Rows<const T> v = whole_vectors<T>({h.v[key], h.v.stride}, tile.keys, h.value_size, values);
    if (h.keep.data != nullptr) b.fill_kept(tile, kept);
    Ahead<T> ahead;
    if (key + block < b.end) {
      const std::int64_t n = std::min(block, h.keys - key - block);
      ahead.add(h.v[key + block], h.v.stride, n, h.value_size);
      ahead.add(h.k[key + block], h.k.stride, n, h.size);
    } else {
      ahead.add(output[first], output.stride, b.count, h.value_size);
      add_next(next, ahead);
    }
    for (std::int64_t lane = 0; lane < block; lane += Panel<T>::lanes) {
      if (!open_panel<Panel<T>::lanes>(tile, lane, panel)) continue;
      tile_logits<T>(b, tile, panel, q_transposed, s, nullptr, ahead);
      if (rows.moment != nullptr) {
        update_running_softmax<true>(s, panel, softmax);
      } else {
        update_running_softmax<false>(s, panel, softmax);
      }
      if (h.keep.data != nullptr) drop_weights(kept, panel, s);
      add_to_queries(tile, panel, static_cast<const T*>(s), v, softmax.width, softmax.output, ahead);
    }
  }
  finish_rows(b, softmax, rows);
  return write_output(b, softmax, output);
}

// P = exp(s − max) / sum, 0 on closed pairs, for the keys of a panel.
template <class T>
HWY_INLINE void weights_of_panel(const TilePanel& panel, const T* shift, const T* factor, T* s) {
  const hn::ScalableTag<T> d;
  const bool full = panel.full();
  for (std::int64_t j = panel.begin; j < panel.end; ++j) {
    for (int v = 0; v < Panel<T>::vectors; ++v) {
      const std::int64_t at = panel.lane + v * Panel<T>::vector;
      T* x = s + j * stride<T> + at;
      const auto e = exp_share(d, hn::Sub(hn::LoadU(d, x), hn::LoadU(d, shift + at)));
      const auto p = hn::Mul(e, hn::LoadU(d, factor + at));
      hn::StoreU(full ? p : hn::IfThenElseZero(panel.open->lanes(d, at, j), p), d, x);
    }
  }
}

// Like `forward_of`, but with maximum and sum known, so that each tile of logits becomes weights at once.
template <class T>
HWY_INLINE void weights_of(const AttentionHead<T>& h, std::int64_t first, const AttentionRows<T>& rows,
                           Rows<T> weights, T* scratch) {
  const QueryBlock<T> b(h, first, 0);
  T* q_transposed = scratch;
  T* s = q_transposed + h.size * stride<T>;
  transpose_queries(b.count, {h.q[first], h.q.stride}, h.size, h.scale, q_transposed);
  Ahead<T> ahead;
  T shift[block], factor[block];
  for (std::int64_t i = 0; i < block; ++i) {
    const bool live = i < b.count && rows.sum[first + i] != 0;
    shift[i] = live ? rows.max[first + i] : T(0);
    factor[i] = live ? T(1) / rows.sum[first + i] : T(0);
  }
  for (std::int64_t i = 0; i < b.count; ++i) std::fill_n(weights[first + i], h.keys, T(0));

  Tile tile;
  TilePanel panel;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    if (!b.open_tile(key, tile)) continue;
    for (std::int64_t lane = 0; lane < b.count; lane += Panel<T>::lanes) {
      if (!open_panel<Panel<T>::lanes>(tile, lane, panel)) continue;
      tile_logits<T>(b, tile, panel, q_transposed, s, nullptr, ahead);
      weights_of_panel(panel, shift, factor, s);
      transpose(weights[first + lane] + key + panel.begin, weights.stride, s + panel.begin * stride<T> + lane,
                stride<T>, panel.keys(), std::min<std::int64_t>(Panel<T>::lanes, b.count - lane), T(1));
    }
  }
}

#define HEED_ATTENTION_FORWARD_FOR(T, S)                                                              \
  std::uint64_t forward_##S(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,         \
                            const AttentionRows<T>& rows, const AttentionNext<T>& next, T* scratch) { \
    return forward_of(head, first, output, rows, next, scratch);                                      \
  }                                                                                                   \
  void weights_##S(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows,    \
                   Rows<T> weights, T* scratch) {                                                     \
    weights_of(head, first, rows, weights, scratch);                                                  \
  }
HEED_ATTENTION_FORWARD_FOR(float, f32)
HEED_ATTENTION_FORWARD_FOR(double, f64)
#undef HEED_ATTENTION_FORWARD_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

std::int64_t attention_forward_scratch(std::int64_t size, std::int64_t value_size) {
  constexpr std::int64_t most_lanes = 16;  // of a vector, on any target
  return attention_stride<float> * (size + attention_block) + 2 * attention_block * (value_size + most_lanes);
}

#define HEED_EXPORT_ATTENTION_FORWARD(T, S)                                                                 \
  HWY_EXPORT(forward_##S);                                                                                  \
  HWY_EXPORT(weights_##S);                                                                                  \
  template <>                                                                                               \
  std::uint64_t attention_forward(const AttentionHead<T>& head, std::int64_t first, Rows<T> output,         \
                                  const AttentionRows<T>& rows, const AttentionNext<T>& next, T* scratch) { \
    return HWY_DYNAMIC_DISPATCH(forward_##S)(head, first, output, rows, next, scratch);                     \
  }                                                                                                         \
  template <>                                                                                               \
  void attention_weights(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<T>& rows,    \
                         Rows<T> weights, T* scratch) {                                                     \
    HWY_DYNAMIC_DISPATCH(weights_##S)(head, first, rows, weights, scratch);                                 \
  }
HEED_EXPORT_ATTENTION_FORWARD(float, f32)
HEED_EXPORT_ATTENTION_FORWARD(double, f64)
#undef HEED_EXPORT_ATTENTION_FORWARD

}  // namespace heed::kernels
#endif
