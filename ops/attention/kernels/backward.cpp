#include <heed/ops/attention/kernels/blocks.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/tile-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE std::int64_t padded(std::int64_t size) {
  return (size + Panel<T>::lanes - 1) / Panel<T>::lanes * Panel<T>::lanes;
}

// What a block keeps in scratch memory.
template <class T>
struct Work {
  std::int64_t wide, value_wide;  // padded sizes
  T *q_turned, *do_turned;        // [size][64], scaled; [value_size][64]
  T *q_rows, *do_rows;            // [64][wide], scaled; [64][value_wide]
  T* dq;                          // [size][64]
  T *s, *dp, *logits, *slope;     // tiles [key][64]

  Work(const AttentionHead<T>& h, T* scratch) : wide(padded<T>(h.size)), value_wide(padded<T>(h.value_size)) {
    const auto take = [&](std::int64_t n) { return std::exchange(scratch, scratch + n); };
    q_turned = take(h.size * block);
    do_turned = take(h.value_size * block);
    q_rows = take(wide * block);
    do_rows = take(value_wide * block);
    dq = take(h.size * block);
    s = take(block * block);
    dp = take(block * block);
    logits = take(block * block);
    slope = take(block * block);
  }
};

// Constants of each query: P = exp(logit − shift) · factor, dS = P ⊙ (dP − delta).
template <class T>
struct RowConstants {
  T shift[block], factor[block], delta[block];
};

template <class T>
HWY_INLINE void load_block(const Block<T>& b, const AttentionRows<const T>& rows, Rows<const T> d_output,
                           const T* delta, const Work<T>& w, RowConstants<T>& r) {
  const AttentionHead<T>& h = b.head;
  std::fill_n(w.q_turned, h.size * block, T(0));
  std::fill_n(w.do_turned, h.value_size * block, T(0));
  std::fill_n(w.q_rows, w.wide * block, T(0));
  std::fill_n(w.do_rows, w.value_wide * block, T(0));
  std::fill_n(w.dq, h.size * block, T(0));
  for (std::int64_t i = 0; i < block; ++i) {
    const std::int64_t q = b.first + i;
    const bool live = i < b.count && (b.skip >> i & 1) == 0 && rows.sum[q] != 0;
    r.shift[i] = live ? rows.max[q] : T(0);
    r.factor[i] = live ? T(1) / rows.sum[q] : T(0);
    r.delta[i] = live ? delta[q] : T(0);
    if (!live) continue;
    for (std::int64_t c = 0; c < h.size; ++c) w.q_rows[i * w.wide + c] = h.q[q][c] * h.scale;
    std::copy_n(d_output[q], h.value_size, w.do_rows + i * w.value_wide);
  }
  transpose(w.q_turned, block, w.q_rows, w.wide, block, h.size, T(1));
  transpose(w.do_turned, block, w.do_rows, w.value_wide, block, h.value_size, T(1));
}

// s ← W, dp ← dS (of the scaled product) for the keys of a panel; zeros on closed pairs.
template <class T>
HWY_INLINE void panel_gradients(const Block<T>& b, std::int64_t lane, const PanelBits& panel,
                                const std::uint32_t* kept, const Work<T>& w, const RowConstants<T>& r,
                                bool logits) {
  using P = Panel<T>;
  const hn::ScalableTag<T> d;
  const AttentionHead<T>& h = b.head;
  const auto keep_scale = hn::Set(d, h.keep_scale);
  for (int v = 0; v < P::vectors; ++v) {
    const std::int64_t at = lane + v * P::vector;
    const auto shift = hn::LoadU(d, r.shift + at), factor = hn::LoadU(d, r.factor + at),
               delta = hn::LoadU(d, r.delta + at);
    for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
      for (std::int64_t j = begin; j < end; ++j) {
        T* s = w.s + j * block + at;
        T* dp = w.dp + j * block + at;
        auto p = hn::Mul(exp_share(d, hn::Sub(hn::LoadU(d, s), shift)), factor);
        auto g = hn::LoadU(d, dp);
        auto weight = p;
        if (kept != nullptr) {
          const auto keep = hn::IfThenElseZero(lane_mask(d, kept[j], v), keep_scale);
          g = hn::Mul(g, keep);
          weight = hn::Mul(p, keep);
        }
        auto ds = hn::Mul(p, hn::Sub(g, delta));
        if constexpr (masked.value) {
          const auto open = lane_mask(d, panel.lanes[j], v);
          weight = hn::IfThenElseZero(open, weight);
          ds = hn::IfThenElseZero(open, ds);
        }
        hn::StoreU(weight, d, s);
        if (logits) hn::StoreU(ds, d, w.logits + j * block + at);
        hn::StoreU(h.softcap > 0 ? hn::Mul(ds, hn::LoadU(d, w.slope + j * block + at)) : ds, d, dp);
      }
    });
  }
}

template <class T>
HWY_INLINE void clear_rows(T* tile, std::int64_t begin, std::int64_t end, std::int64_t lane) {
  for (std::int64_t j = begin; j < end; ++j) std::fill_n(tile + j * block + lane, Panel<T>::lanes, T(0));
}

// dK and dV of the tile's keys from all 64 queries, leaving out queries that no key of a group is open to.
template <class T>
HWY_INLINE void add_to_keys(const TileBits& tile, std::int64_t key, std::int64_t keys, const Work<T>& w,
                            const AttentionGradients<T>& g) {
  const std::int64_t group = tile.full ? block : 16;
  for (std::int64_t j = 0; j < keys; j += group) {
    const std::int64_t n = std::min(group, keys - j);
    std::int64_t begin = 0, end = block;
    if (!tile.full) {
      const std::uint64_t mine = low_bits(j + n) & ~low_bits(j);
      while (begin < end && (tile.query[begin] & mine) == 0) ++begin;
      while (end > begin && (tile.query[end - 1] & mine) == 0) --end;
      if (begin == end) continue;
    }
    const auto add = [&](const Rows<T>& to, std::int64_t wide, const T* weights, const T* rows) {
      for (std::int64_t c = 0; c < wide; c += Panel<T>::lanes) {
        product(ByRowsOfAnyStride(), n, to[key + j] + c, weights + j * block + begin, block,
                rows + begin * wide + c, wide, end - begin, true);
      }
    };
    if (g.dv.data != nullptr) add(g.dv, w.value_wide, w.s, w.do_rows);
    if (g.dk.data != nullptr) add(g.dk, w.wide, w.dp, w.q_rows);
  }
}

template <class T>
HWY_INLINE void backward_of(const AttentionHead<T>& h, std::int64_t first, const AttentionRows<const T>& rows,
                            Rows<const T> d_output, const T* delta, std::uint64_t skip,
                            const AttentionGradients<T>& g, T* scratch) {
  using P = Panel<T>;
  const Block<T> b(h, first, skip);
  const Work<T> w(h, scratch);
  RowConstants<T> r;
  load_block(b, rows, d_output, delta, w, r);

  TileBits tile;
  PanelBits panel;
  std::uint32_t kept[block];
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    const std::int64_t keys = std::min(block, h.keys - key);
    b.bits(key, keys, tile);
    if (tile.any == 0) continue;
    for (std::int64_t lane = 0; lane < block; lane += P::lanes) {
      if (!panel_bits<P::lanes>(tile, keys, lane, panel)) {
        clear_rows(w.s, 0, keys, lane);
        clear_rows(w.dp, 0, keys, lane);
        continue;
      }
      panel_logits<T>(b, key, lane, panel, w.q_turned, w.s, h.softcap > 0 ? w.slope : nullptr);
      const std::int64_t from = panel.begin * block + lane;
      const std::int64_t n = panel.end - panel.begin;
      product(ByRows(), n, w.dp + from, h.v[key + panel.begin], h.v.stride, w.do_turned + lane, block,
              h.value_size, false);
      if (h.keep.data != nullptr) b.template kept<P::lanes>(key, keys, lane, kept);
      const bool logits = g.logits.data != nullptr;
      const std::uint32_t* keep = h.keep.data != nullptr ? kept : nullptr;
      panel_gradients(b, lane, panel, keep, w, r, logits);
      if (logits && lane < b.count) {
        transpose(g.logits[first + lane] + key + panel.begin, g.logits.stride, w.logits + from, block, n,
                  std::min<std::int64_t>(P::lanes, b.count - lane), T(1));
      }
      for (T* x : {w.s, w.dp}) {
        clear_rows(x, 0, panel.begin, lane);
        clear_rows(x, panel.end, keys, lane);
      }
      if (g.dq.data != nullptr) {
        product(ByColumns(), h.size, w.dq + lane, h.k[key + panel.begin], h.k.stride, w.dp + from, block, n,
                true);
      }
    }
    add_to_keys(tile, key, keys, w, g);
  }
  if (g.dq.data != nullptr) transpose(g.dq[first], g.dq.stride, w.dq, block, h.size, b.count, h.scale);
}

#define HEED_ATTENTION_BACKWARD_FOR(T, S)                                                                 \
  std::int64_t padded_##S(std::int64_t size) { return padded<T>(size); }                                  \
  void backward_##S(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows, \
                    Rows<const T> d_output, const T* delta, std::uint64_t skip,                           \
                    const AttentionGradients<T>& g, T* scratch) {                                         \
    backward_of(head, first, rows, d_output, delta, skip, g, scratch);                                    \
  }
HEED_ATTENTION_BACKWARD_FOR(float, f32)
HEED_ATTENTION_BACKWARD_FOR(double, f64)
#undef HEED_ATTENTION_BACKWARD_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

std::int64_t attention_scratch(std::int64_t size, std::int64_t value_size) {
  constexpr std::int64_t widest = 64;  // a panel of any target has at most so many lanes
  const std::int64_t wide = size + widest, value_wide = value_size + widest;
  return attention_block * (2 * size + value_size + wide + value_wide + 4 * attention_block);
}

#define HEED_EXPORT_ATTENTION_BACKWARD(T, S)                                                          \
  HWY_EXPORT(padded_##S);                                                                             \
  HWY_EXPORT(backward_##S);                                                                           \
  template <>                                                                                         \
  std::int64_t attention_padded<T>(std::int64_t size) {                                               \
    return HWY_DYNAMIC_DISPATCH(padded_##S)(size);                                                    \
  }                                                                                                   \
  template <>                                                                                         \
  void attention_backward(const AttentionHead<T>& head, std::int64_t first,                           \
                          const AttentionRows<const T>& rows, Rows<const T> d_output, const T* delta, \
                          std::uint64_t skip, const AttentionGradients<T>& gradients, T* scratch) {   \
    HWY_DYNAMIC_DISPATCH(backward_##S)(head, first, rows, d_output, delta, skip, gradients, scratch); \
  }
HEED_EXPORT_ATTENTION_BACKWARD(float, f32)
HEED_EXPORT_ATTENTION_BACKWARD(double, f64)
#undef HEED_EXPORT_ATTENTION_BACKWARD

}  // namespace heed::kernels
#endif
