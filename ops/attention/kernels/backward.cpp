#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <heed/ops/attention/kernels/backward.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/tile_logits-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// The scratch memory of one block. Rows are padded to whole vectors.
template <class T>
struct BackwardScratch {
  std::int64_t width, value_width;        // size and value size, padded
  T *q_transposed, *d_output_transposed;  // [size][64], scaled; [value_size][64]
  T* s;                                   // tile [key][64]: logits, then W
  T* dp;                                  // tile: dP, then dS of q·k
  T *d_logits, *slope_of_cap;             // tiles
  T* dq;                                  // [64][width]
  T *q, *k, *d_output;                    // copies of rows whose size is not one of whole vectors

  BackwardScratch(const AttentionHead<T>& h, T* memory)
      : width(padded<T>(h.size)), value_width(padded<T>(h.value_size)) {
    const auto take = [&](std::int64_t n) { return std::exchange(memory, memory + n); };
    q_transposed = take(h.size * stride<T>);
    d_output_transposed = take(h.value_size * stride<T>);
    s = take(block * stride<T>);
    dp = take(block * stride<T>);
    d_logits = take(block * stride<T>);
    slope_of_cap = take(block * stride<T>);
    dq = take(block * width);
    q = take(block * width);
    k = take(block * width);
    d_output = take(block * value_width);
  }
};

// Constants of each query: P = exp(logit − shift) · factor, dS = P ⊙ (dP − delta), and Σ dS = balance.
template <class T>
struct RowConstants {
  T shift[block], factor[block], delta[block], balance[block];
};

// For each query the key that has more than half of the weight, if there is one. In its dS = P (dP − delta)
// dP and delta may be nearly equal, and their difference mere rounding. So the key is left out of all sums,
// and at the end its dS is the balance of the row minus the dS of the other keys.
template <class T>
struct Dominant {
  T found[block] = {};      // 1 where there is one, else 0
  std::int64_t key[block];  // set where found
  T slope_of_cap[block];    // set where found
  T others[block] = {};     // Σ dS of the other keys
};

// The constants of each query; zeros for queries that are absent, skipped or dead. Σ_j dS_j = dlse − dsink,
// with dsink = −P_sink · delta.
template <class T>
HWY_INLINE void load_constants(const QueryBlock<T>& b, const AttentionRows<const T>& rows,
                               Rows<const T> output, const AttentionCotangents<T>& cotangents,
                               RowConstants<T>& r) {
  const AttentionHead<T>& h = b.head;
  for (std::int64_t i = 0; i < block; ++i) {
    const std::int64_t q = b.first + i;
    r.shift[i] = r.factor[i] = r.delta[i] = r.balance[i] = T(0);
    if (i >= b.count || (b.skip >> i & 1) != 0 || rows.sum[q] == 0) continue;
    const T d_lse = cotangents.lse == nullptr ? T(0) : cotangents.lse[q];
    r.shift[i] = rows.max[q];
    r.factor[i] = T(1) / rows.sum[q];
    r.delta[i] = dot_row_of(cotangents.output[q], output[q], h.value_size) - d_lse;
    r.balance[i] = h.has_sink ? d_lse + std::exp(h.sink - r.shift[i]) * r.factor[i] * r.delta[i] : d_lse;
  }
}

// Zeros in the rows of these keys of a tile, for the queries of a panel.
template <class T>
HWY_INLINE void clear_keys(T* tile, std::int64_t begin, std::int64_t end, std::int64_t lane) {
  for (std::int64_t j = begin; j < end; ++j) std::fill_n(tile + j * stride<T> + lane, Panel<T>::lanes, T(0));
}

// Notes `key` as the dominant key of the query of each lane that is set.
template <class D, class T>
HWY_INLINE void remember(D d, hn::Mask<D> lanes, std::int64_t key, std::int64_t at, const T* slope_of_cap,
                         Dominant<T>& dominant) {
  for (std::uint64_t bits = lanes_set(d, lanes); bits != 0; bits &= bits - 1) {
    const int lane = std::countr_zero(bits);
    dominant.found[at + lane] = T(1);
    dominant.key[at + lane] = key;
    dominant.slope_of_cap[at + lane] = slope_of_cap == nullptr ? T(1) : slope_of_cap[lane];
  }
}

// e^x for x <= 0, and 0 below the normal numbers, so that keys far below a dominant one add nothing.
template <class D>
HWY_INLINE hn::Vec<D> exp_or_zero(D d, hn::Vec<D> x) {
  const auto e = exp_below_zero(d, x);
  const auto smallest = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::min());
  return hn::IfThenZeroElse(hn::Lt(e, smallest), e);  // a NaN stays
}

// s ← W and dp ← dS for one vector of queries of a panel, 0 on closed pairs. `seeks_dominant` says that some
// of these queries may have a dominant key, whose dS becomes 0.
template <bool seeks_dominant, class T>
HWY_INLINE void softmax_vjp_of_vector(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                                      int vector, const PairBits* kept, const BackwardScratch<T>& w,
                                      const RowConstants<T>& r, bool needs_logits, Dominant<T>& dominant) {
  const hn::ScalableTag<T> d;
  const bool softcapped = b.head.softcap > 0;
  const auto scale = hn::Set(d, b.head.scale);
  const auto keep_scale = hn::Set(d, b.head.keep_scale);
  const std::int64_t at = panel.lane + vector * Panel<T>::vector;
  const auto shift = hn::LoadU(d, r.shift + at), factor = hn::LoadU(d, r.factor + at),
             delta = hn::LoadU(d, r.delta + at);
  auto others = hn::LoadU(d, dominant.others + at);
  // A lane without a dominant key gets the bits of exp_share, whichever lanes share its vector.
  const auto low = hn::IfThenElse(hn::Gt(factor, hn::Set(d, T(0.5))),
                                  hn::Set(d, -std::numeric_limits<T>::infinity()), hn::Set(d, share_end<T>));
  for_runs(panel, [&](auto masked, std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t pair = j * stride<T> + at;
      const auto x = hn::Sub(hn::LoadU(d, w.s + pair), shift);
      auto p = hn::Mul(seeks_dominant ? exp_or_zero(d, hn::Max(x, low)) : exp_share(d, x), factor);
      if constexpr (masked.value) p = hn::IfThenElseZero(panel.open->lanes(d, at, j), p);
      auto weight = p;
      auto dp = hn::LoadU(d, w.dp + pair);
      if (kept != nullptr) {
        const auto keep = hn::IfThenElseZero(kept->lanes(d, at, j), keep_scale);
        weight = hn::Mul(p, keep);
        dp = hn::Mul(dp, keep);
      }
      auto ds = hn::Mul(p, hn::Sub(dp, delta));
      if constexpr (masked.value) ds = hn::IfThenElseZero(panel.open->lanes(d, at, j), ds);
      if constexpr (seeks_dominant) {
        const auto found = hn::Ne(hn::LoadU(d, dominant.found + at), hn::Zero(d));
        const auto here = hn::AndNot(found, hn::Gt(p, hn::Set(d, T(0.5))));
        if (!hn::AllFalse(d, here)) {
          remember(d, here, tile.key + j, at, softcapped ? w.slope_of_cap + pair : nullptr, dominant);
          ds = hn::IfThenZeroElse(here, ds);
        }
        others = hn::Add(others, ds);
      }
      hn::StoreU(weight, d, w.s + pair);
      if (needs_logits) hn::StoreU(ds, d, w.d_logits + pair);
      const auto slope = softcapped ? hn::Mul(scale, hn::LoadU(d, w.slope_of_cap + pair)) : scale;
      hn::StoreU(hn::Mul(ds, slope), d, w.dp + pair);
    }
  });
  if (seeks_dominant) hn::StoreU(others, d, dominant.others + at);
}

// For the keys of a panel: P from the logits s, then s ← W = P ⊙ keep and dp ← dS = P ⊙ (dP ⊙ keep − delta),
// through the softcap. Keys outside the panel become zeros: the products of the whole tile read them.
template <class T>
HWY_INLINE void softmax_vjp(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                            const PairBits* kept, const BackwardScratch<T>& w, const RowConstants<T>& r,
                            bool needs_logits, Dominant<T>& dominant) {
  const hn::ScalableTag<T> d;
  for (int v = 0; v < Panel<T>::vectors; ++v) {
    // The factor is the weight of the largest logit, so no weight of the query is above it.
    const auto factor = hn::LoadU(d, r.factor + panel.lane + v * Panel<T>::vector);
    if (hn::AllFalse(d, hn::Gt(factor, hn::Set(d, T(0.5))))) {
      softmax_vjp_of_vector<false>(b, tile, panel, v, kept, w, r, needs_logits, dominant);
    } else {
      softmax_vjp_of_vector<true>(b, tile, panel, v, kept, w, r, needs_logits, dominant);
    }
  }
  for (T* x : {w.s, w.dp}) {
    clear_keys(x, 0, panel.begin, panel.lane);
    clear_keys(x, panel.end, tile.keys, panel.lane);
  }
}

// Writes the cotangents of a panel's logits, for the bias.
template <class T>
HWY_INLINE void write_logits(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                             const T* d_logits, Rows<T> to) {
  if (panel.lane >= b.count) return;
  transpose(to[b.first + panel.lane] + tile.key + panel.begin, to.stride,
            d_logits + panel.begin * stride<T> + panel.lane, stride<T>, panel.keys(),
            std::min<std::int64_t>(Panel<T>::lanes, b.count - panel.lane), T(1));
}

// Adds the dS of dominant keys, so far left out, to the gradients of the logits, of the query and of the key.
// Runs before dq is written.
template <class T>
HWY_INLINE void add_dominant(const QueryBlock<T>& b, const RowConstants<T>& r, const Dominant<T>& dominant,
                             const AttentionGradients<T>& g, const BackwardScratch<T>& w) {
  const AttentionHead<T>& h = b.head;
  for (std::int64_t i = 0; i < b.count; ++i) {
    if (dominant.found[i] == 0) continue;
    const std::int64_t q = b.first + i, key = dominant.key[i];
    const T ds = r.balance[i] - dominant.others[i];
    const T scaled = ds * dominant.slope_of_cap[i];
    if (g.logits.data != nullptr) g.logits[q][key] = ds;
    for (std::int64_t c = 0; c < h.size; ++c) {
      if (g.dq.data != nullptr) w.dq[i * w.width + c] += scaled * h.scale * h.k[key][c];
      if (g.dk.data != nullptr) g.dk[key][c] += scaled * h.scale * h.q[q][c];
    }
  }
}

// See `attention_add_segments`.
template <class T>
HWY_INLINE bool add_segments_of(Rows<T> to, std::int64_t keys, std::int64_t size, const T* sums,
                                std::int64_t width, std::int64_t segments, std::int64_t step) {
  const hn::ScalableTag<T> d;
  auto zero = hn::Zero(d);  // NaN once something is not finite
  for (std::int64_t j = 0; j < keys; ++j) {
    for_lanes(d, size, [&](std::int64_t c, std::size_t count) HWY_ATTR {
      const T* from = sums + j * width + c;
      auto sum = load(d, from, count);
      for (std::int64_t s = 1; s < segments; ++s) sum = hn::Add(sum, load(d, from + s * step, count));
      zero = hn::MulAdd(sum, hn::Zero(d), zero);
      store(sum, d, to[j] + c, count);
    });
  }
  return hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)));
}

// What is fetched while a tile is computed: the rows of the tile at `key`, or behind the last one what is
// written and what the caller asks for.
template <class T>
HWY_INLINE Ahead<T> rows_after(const QueryBlock<T>& b, std::int64_t key, const BackwardScratch<T>& w,
                               const AttentionGradients<T>& g, const AttentionNext<T>& next) {
  const AttentionHead<T>& h = b.head;
  Ahead<T> ahead;
  if (key < b.end) {
    const std::int64_t n = std::min(block, h.keys - key);
    if (g.dk.data != nullptr) ahead.add(g.dk[key], g.dk.stride, n, w.width);
    if (g.dv.data != nullptr) ahead.add(g.dv[key], g.dv.stride, n, w.value_width);
    ahead.add(h.v[key], h.v.stride, n, h.value_size);
    ahead.add(h.k[key], h.k.stride, n, h.size);
  } else {
    add_next(next, ahead);
    if (g.dq.data != nullptr) ahead.add(g.dq[b.first], g.dq.stride, b.count, h.size);
  }
  return ahead;
}

// What 64 queries contribute to all gradients, tile by tile as in forward. For the reason of this layout, and
// for m and Z, see docs/adr/0004-blocked-attention-keeps-queries-in-lanes.md.
//
//   given for each query:  m, Z, dO, dlse and delta = Σ dO ⊙ O − dlse
//   dQ ← 0
//   for each tile of 64 keys that is open to some query:
//     for each panel of queries, as many as one product takes:
//       s  ← scale · q·k, softcap, bias, ALiBi                tile_logits
//       dP ← dO · v                                           product
//       P  ← exp(s − m) / Z, 0 on closed pairs                softmax_vjp
//       W  ← P ⊙ keep,  dP ← dP ⊙ keep                          keep is 0 or 1 / (1 − dropout)
//       dS ← P ⊙ (dP − delta), 0 where P > ½                    also the gradient of the bias
//       dS ← dS ⊙ slope of the softcap · scale
//       dQ ← dQ + dS k                                        add_to_queries
//     dV ← dV + Wᵀ dO,  dK ← dK + dSᵀ q                       add_to_keys
//   where P > ½:  dS ← dlse − dsink − Σ of the other dS,  joins dQ and dK       add_dominant
template <class T>
HWY_INLINE bool backward_of(const AttentionHead<T>& h, std::int64_t first, const AttentionRows<const T>& rows,
                            Rows<const T> output, const AttentionCotangents<T>& cotangents,
                            std::uint64_t skip, const AttentionGradients<T>& g, const AttentionNext<T>& next,
                            T* scratch) {
  const QueryBlock<T> b(h, first, skip);
  const BackwardScratch<T> w(h, scratch);
  const bool needs_logits = g.logits.data != nullptr;
  RowConstants<T> r;
  Dominant<T> dominant;
  load_constants(b, rows, output, cotangents, r);
  const Rows<const T> queries{h.q[first], h.q.stride};
  const Rows<const T> d_outputs{cotangents.output[first], cotangents.output.stride};
  transpose_queries(b.count, queries, h.size, h.scale, w.q_transposed);
  transpose_queries(b.count, d_outputs, h.value_size, T(1), w.d_output_transposed);
  const Rows<const T> q = whole_vectors(queries, b.count, h.size, w.q);
  const Rows<const T> d_output = whole_vectors(d_outputs, b.count, h.value_size, w.d_output);
  if (g.dq.data != nullptr) std::fill_n(w.dq, block * w.width, T(0));

  Tile tile;
  TilePanel panel;
  PairBits kept;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    if (!b.open_tile(key, tile)) continue;
    const Rows<const T> k = whole_vectors({h.k[key], h.k.stride}, tile.keys, h.size, w.k);
    if (h.keep.data != nullptr) b.fill_kept(tile, kept);
    Ahead<T> ahead = rows_after(b, key + block, w, g, next);
    for (std::int64_t lane = 0; lane < block; lane += Panel<T>::lanes) {
      if (!open_panel<Panel<T>::lanes>(tile, lane, panel)) {
        clear_keys(w.s, 0, tile.keys, lane);
        clear_keys(w.dp, 0, tile.keys, lane);
        continue;
      }
      tile_logits<T>(b, tile, panel, w.q_transposed, w.s, h.softcap > 0 ? w.slope_of_cap : nullptr, ahead);
      product(IntoTile<T>(), panel.keys(), w.dp + panel.begin * stride<T> + lane, stride<T>,
              h.v[key + panel.begin], h.v.stride, w.d_output_transposed + lane, stride<T>, h.value_size,
              false, &ahead);
      softmax_vjp(b, tile, panel, h.keep.data == nullptr ? nullptr : &kept, w, r, needs_logits, dominant);
      if (needs_logits) write_logits(b, tile, panel, w.d_logits, g.logits);
      if (g.dq.data != nullptr) add_to_queries<T>(tile, panel, w.dp, k, w.width, w.dq, ahead);
    }
    if (g.dv.data != nullptr) add_to_keys<T>(tile, w.s, d_output, w.value_width, g.dv, ahead);
    if (g.dk.data != nullptr) add_to_keys<T>(tile, w.dp, q, w.width, g.dk, ahead);
  }
  add_dominant(b, r, dominant, g, w);
  return g.dq.data == nullptr ||
         add_segments_of<T>({g.dq[first], g.dq.stride}, b.count, h.size, w.dq, w.width, 1, 0);
}

#define HEED_ATTENTION_BACKWARD_FOR(T, S)                                                                    \
  std::int64_t padded_##S(std::int64_t size) { return padded<T>(size); }                                     \
  bool backward_##S(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows,    \
                    Rows<const T> output, const AttentionCotangents<T>& cotangents, std::uint64_t skip,      \
                    const AttentionGradients<T>& g, const AttentionNext<T>& next, T* scratch) {              \
    return backward_of(head, first, rows, output, cotangents, skip, g, next, scratch);                       \
  }                                                                                                          \
  bool add_segments_##S(Rows<T> to, std::int64_t keys, std::int64_t size, const T* sums, std::int64_t width, \
                        std::int64_t segments, std::int64_t step) {                                          \
    return add_segments_of(to, keys, size, sums, width, segments, step);                                     \
  }
HEED_ATTENTION_BACKWARD_FOR(float, f32)
HEED_ATTENTION_BACKWARD_FOR(double, f64)
#undef HEED_ATTENTION_BACKWARD_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

std::int64_t attention_backward_scratch(std::int64_t size, std::int64_t value_size) {
  constexpr std::int64_t most_lanes = 16;  // of a vector, on any target
  const std::int64_t width = size + most_lanes, value_width = value_size + most_lanes;
  return attention_stride<float> * (size + value_size + 4 * attention_block) +
         attention_block * (3 * width + value_width);
}

#define HEED_EXPORT_ATTENTION_BACKWARD(T, S)                                                           \
  HWY_EXPORT(padded_##S);                                                                              \
  HWY_EXPORT(backward_##S);                                                                            \
  HWY_EXPORT(add_segments_##S);                                                                        \
  template <>                                                                                          \
  std::int64_t attention_padded<T>(std::int64_t size) {                                                \
    return HWY_DYNAMIC_DISPATCH(padded_##S)(size);                                                     \
  }                                                                                                    \
  template <>                                                                                          \
  bool attention_backward(                                                                             \
      const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows,            \
      Rows<const T> output, const AttentionCotangents<T>& given, std::uint64_t skip,                   \
      const AttentionGradients<T>& gradients, const AttentionNext<T>& next, T* scratch) {              \
    return HWY_DYNAMIC_DISPATCH(backward_##S)(head, first, rows, output, given, skip, gradients, next, \
                                              scratch);                                                \
  }                                                                                                    \
  template <>                                                                                          \
  bool attention_add_segments(Rows<T> to, std::int64_t keys, std::int64_t size, const T* sums,         \
                              std::int64_t width, std::int64_t segments, std::int64_t step) {          \
    return HWY_DYNAMIC_DISPATCH(add_segments_##S)(to, keys, size, sums, width, segments, step);        \
  }
HEED_EXPORT_ATTENTION_BACKWARD(float, f32)
HEED_EXPORT_ATTENTION_BACKWARD(double, f64)
#undef HEED_EXPORT_ATTENTION_BACKWARD

}  // namespace heed::kernels
#endif
