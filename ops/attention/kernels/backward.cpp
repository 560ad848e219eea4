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
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE std::int64_t padded(std::int64_t size) {
  return (size + Panel<T>::lanes - 1) / Panel<T>::lanes * Panel<T>::lanes;
}

// The scratch memory of one block. Rows are padded to whole panels.
template <class T>
struct BackwardScratch {
  std::int64_t width, value_width;        // size and value size, padded
  T *q_transposed, *d_output_transposed;  // [size][64], scaled; [value_size][64]
  T *q_rows, *d_output_rows;              // [64][width], scaled; [64][value_width]
  T* dq_transposed;                       // [size][64]
  T* s;                                   // tile [key][64]: logits, then W
  T* dp;                                  // tile: dP, then dS of the scaled product
  T *d_logits, *slope_of_cap;             // tiles

  BackwardScratch(const AttentionHead<T>& h, T* memory)
      : width(padded<T>(h.size)), value_width(padded<T>(h.value_size)) {
    const auto take = [&](std::int64_t n) { return std::exchange(memory, memory + n); };
    q_transposed = take(h.size * stride<T>);
    d_output_transposed = take(h.value_size * stride<T>);
    q_rows = take(width * block);
    d_output_rows = take(value_width * block);
    dq_transposed = take(h.size * stride<T>);
    s = take(block * stride<T>);
    dp = take(block * stride<T>);
    d_logits = take(block * stride<T>);
    slope_of_cap = take(block * stride<T>);
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

// Σ_j dS_j = dlse − dsink of a query, with dsink = −P_sink · delta.
template <class T>
HWY_INLINE T balance_of(const AttentionHead<T>& h, const AttentionCotangents<T>& cotangents,
                        std::int64_t query, T shift, T factor) {
  const T d_lse = cotangents.lse == nullptr ? T(0) : cotangents.lse[query];
  return h.has_sink ? d_lse + std::exp(h.sink - shift) * factor * cotangents.delta[query] : d_lse;
}

// Queries and their cotangents as rows and transposed; zeros for queries that are absent, skipped or dead.
template <class T>
HWY_INLINE void load_queries(const QueryBlock<T>& b, const AttentionRows<const T>& rows,
                             const AttentionCotangents<T>& cotangents, const BackwardScratch<T>& w,
                             RowConstants<T>& r) {
  const AttentionHead<T>& h = b.head;
  std::fill_n(w.q_transposed, h.size * stride<T>, T(0));
  std::fill_n(w.d_output_transposed, h.value_size * stride<T>, T(0));
  std::fill_n(w.q_rows, w.width * block, T(0));
  std::fill_n(w.d_output_rows, w.value_width * block, T(0));
  for (std::int64_t i = 0; i < block; ++i) {
    const std::int64_t q = b.first + i;
    const bool live = i < b.count && (b.skip >> i & 1) == 0 && rows.sum[q] != 0;
    r.shift[i] = live ? rows.max[q] : T(0);
    r.factor[i] = live ? T(1) / rows.sum[q] : T(0);
    r.delta[i] = live ? cotangents.delta[q] : T(0);
    r.balance[i] = live ? balance_of(h, cotangents, q, r.shift[i], r.factor[i]) : T(0);
    if (!live) continue;
    for (std::int64_t c = 0; c < h.size; ++c) w.q_rows[i * w.width + c] = h.q[q][c] * h.scale;
    std::copy_n(cotangents.output[q], h.value_size, w.d_output_rows + i * w.value_width);
  }
  transpose(w.q_transposed, stride<T>, w.q_rows, w.width, block, h.size, T(1));
  transpose(w.d_output_transposed, stride<T>, w.d_output_rows, w.value_width, block, h.value_size, T(1));
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
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, lanes, reinterpret_cast<std::uint8_t*>(&bits));
  for (; bits != 0; bits &= bits - 1) {
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
                                      int vector, const std::uint32_t* kept, const BackwardScratch<T>& w,
                                      const RowConstants<T>& r, bool needs_logits, Dominant<T>& dominant) {
  const hn::ScalableTag<T> d;
  const bool softcapped = b.head.softcap > 0;
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
      if constexpr (masked.value) p = hn::IfThenElseZero(lane_mask(d, panel.lanes[j], vector), p);
      auto weight = p;
      auto dp = hn::LoadU(d, w.dp + pair);
      if (kept != nullptr) {
        const auto keep = hn::IfThenElseZero(lane_mask(d, kept[j], vector), keep_scale);
        weight = hn::Mul(p, keep);
        dp = hn::Mul(dp, keep);
      }
      auto ds = hn::Mul(p, hn::Sub(dp, delta));
      if constexpr (masked.value) ds = hn::IfThenElseZero(lane_mask(d, panel.lanes[j], vector), ds);
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
      hn::StoreU(softcapped ? hn::Mul(ds, hn::LoadU(d, w.slope_of_cap + pair)) : ds, d, w.dp + pair);
    }
  });
  if (seeks_dominant) hn::StoreU(others, d, dominant.others + at);
}

// For the keys of a panel: P from the logits s, then s ← W = P ⊙ keep and dp ← dS = P ⊙ (dP ⊙ keep − delta),
// through the softcap. Keys outside the panel become zeros: the products of the whole tile read them.
template <class T>
HWY_INLINE void softmax_vjp(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                            const BackwardScratch<T>& w, const RowConstants<T>& r, bool needs_logits,
                            Dominant<T>& dominant) {
  const hn::ScalableTag<T> d;
  const bool dropout = b.head.keep.data != nullptr;
  std::uint32_t kept[block];
  if (dropout) b.template kept<Panel<T>::lanes>(tile, panel.lane, kept);
  for (int v = 0; v < Panel<T>::vectors; ++v) {
    // The factor is the weight of the largest logit, so no weight of the query is above it.
    const auto factor = hn::LoadU(d, r.factor + panel.lane + v * Panel<T>::vector);
    const std::uint32_t* of_dropout = dropout ? kept : nullptr;
    if (hn::AllFalse(d, hn::Gt(factor, hn::Set(d, T(0.5))))) {
      softmax_vjp_of_vector<false>(b, tile, panel, v, of_dropout, w, r, needs_logits, dominant);
    } else {
      softmax_vjp_of_vector<true>(b, tile, panel, v, of_dropout, w, r, needs_logits, dominant);
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

// dV += Wᵀ dO and dK += dSᵀ q for the keys of a tile, one group of keys at a time. Each product runs from the
// first to the last query that some key of the group is open to, which saves work on a causal diagonal.
template <class T>
HWY_INLINE void add_to_keys(const Tile& tile, const BackwardScratch<T>& w, const AttentionGradients<T>& g) {
  const std::int64_t group = tile.full ? block : 16;
  for (std::int64_t j = 0; j < tile.keys; j += group) {
    const std::int64_t n = std::min(group, tile.keys - j);
    std::int64_t begin = 0, end = block;
    if (!tile.full) {
      const std::uint64_t of_group = low_bits(j + n) & ~low_bits(j);
      while (begin < end && (tile.query[begin] & of_group) == 0) ++begin;
      while (end > begin && (tile.query[end - 1] & of_group) == 0) --end;
      if (begin == end) continue;
    }
    const auto add = [&](const Rows<T>& to, std::int64_t width, const T* weights, const T* rows) {
      for (std::int64_t c = 0; c < width; c += Panel<T>::lanes) {
        product(ByRowsOfAnyStride(), n, to[tile.key + j] + c, width, weights + j * stride<T> + begin,
                stride<T>, rows + begin * width + c, width, end - begin, true);
      }
    };
    if (g.dv.data != nullptr) add(g.dv, w.value_width, w.s, w.d_output_rows);
    if (g.dk.data != nullptr) add(g.dk, w.width, w.dp, w.q_rows);
  }
}

// Adds the dS of dominant keys, so far left out, to the gradients of the logits, of the query and of the key.
// Runs after dq was written, so that it can add to it.
template <class T>
HWY_INLINE void add_dominant(const QueryBlock<T>& b, const BackwardScratch<T>& w, const RowConstants<T>& r,
                             const Dominant<T>& dominant, const AttentionGradients<T>& g) {
  const AttentionHead<T>& h = b.head;
  for (std::int64_t i = 0; i < b.count; ++i) {
    if (dominant.found[i] == 0) continue;
    const std::int64_t q = b.first + i, key = dominant.key[i];
    const T ds = r.balance[i] - dominant.others[i];
    const T scaled = ds * dominant.slope_of_cap[i];
    if (g.logits.data != nullptr) g.logits[q][key] = ds;
    for (std::int64_t c = 0; c < h.size; ++c) {
      if (g.dq.data != nullptr) g.dq[q][c] += scaled * h.scale * h.k[key][c];
      if (g.dk.data != nullptr) g.dk[key][c] += scaled * w.q_rows[i * w.width + c];
    }
  }
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
//       dS ← dS ⊙ slope of the softcap
//       dQ ← dQ + dS k                                        product
//     dV ← dV + Wᵀ dO,  dK ← dK + dSᵀ (scale · q)             add_to_keys
//   dQ ← scale · dQ
//   where P > ½:  dS ← dlse − dsink − Σ of the other dS,  joins dQ and dK       add_dominant
template <class T>
HWY_INLINE void backward_of(const AttentionHead<T>& h, std::int64_t first, const AttentionRows<const T>& rows,
                            const AttentionCotangents<T>& cotangents, std::uint64_t skip,
                            const AttentionGradients<T>& g, T* scratch) {
  const QueryBlock<T> b(h, first, skip);
  const BackwardScratch<T> w(h, scratch);
  const bool needs_logits = g.logits.data != nullptr;
  RowConstants<T> r;
  Dominant<T> dominant;
  load_queries(b, rows, cotangents, w, r);
  std::fill_n(w.dq_transposed, h.size * stride<T>, T(0));

  Tile tile;
  TilePanel panel;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    if (!b.open_tile(key, tile)) continue;
    for (std::int64_t lane = 0; lane < block; lane += Panel<T>::lanes) {
      if (!open_panel<Panel<T>::lanes>(tile, lane, panel)) {
        clear_keys(w.s, 0, tile.keys, lane);
        clear_keys(w.dp, 0, tile.keys, lane);
        continue;
      }
      const std::int64_t at = panel.begin * stride<T> + lane;
      tile_logits<T>(b, tile, panel, w.q_transposed, w.s, h.softcap > 0 ? w.slope_of_cap : nullptr);
      product(ByRows<T>(), panel.keys(), w.dp + at, stride<T>, h.v[key + panel.begin], h.v.stride,
              w.d_output_transposed + lane, stride<T>, h.value_size, false);
      softmax_vjp(b, tile, panel, w, r, needs_logits, dominant);
      if (needs_logits) write_logits(b, tile, panel, w.d_logits, g.logits);
      if (g.dq.data != nullptr) {
        product(ByColumns<T>(), h.size, w.dq_transposed + lane, stride<T>, h.k[key + panel.begin], h.k.stride,
                w.dp + at, stride<T>, panel.keys(), true);
      }
    }
    add_to_keys(tile, w, g);
  }
  if (g.dq.data != nullptr) {
    transpose(g.dq[first], g.dq.stride, w.dq_transposed, stride<T>, h.size, b.count, h.scale);
  }
  add_dominant(b, w, r, dominant, g);
}

#define HEED_ATTENTION_BACKWARD_FOR(T, S)                                                                 \
  std::int64_t padded_##S(std::int64_t size) { return padded<T>(size); }                                  \
  void backward_##S(const AttentionHead<T>& head, std::int64_t first, const AttentionRows<const T>& rows, \
                    const AttentionCotangents<T>& cotangents, std::uint64_t skip,                         \
                    const AttentionGradients<T>& g, T* scratch) {                                         \
    backward_of(head, first, rows, cotangents, skip, g, scratch);                                         \
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
  constexpr std::int64_t most_lanes = 64;  // of a panel, on any target
  const std::int64_t width = size + most_lanes, value_width = value_size + most_lanes;
  return attention_stride<float> * (2 * size + value_size + 4 * attention_block) +
         attention_block * (width + value_width);
}

#define HEED_EXPORT_ATTENTION_BACKWARD(T, S)                                                        \
  HWY_EXPORT(padded_##S);                                                                           \
  HWY_EXPORT(backward_##S);                                                                         \
  template <>                                                                                       \
  std::int64_t attention_padded<T>(std::int64_t size) {                                             \
    return HWY_DYNAMIC_DISPATCH(padded_##S)(size);                                                  \
  }                                                                                                 \
  template <>                                                                                       \
  void attention_backward(const AttentionHead<T>& head, std::int64_t first,                         \
                          const AttentionRows<const T>& rows, const AttentionCotangents<T>& given,  \
                          std::uint64_t skip, const AttentionGradients<T>& gradients, T* scratch) { \
    HWY_DYNAMIC_DISPATCH(backward_##S)(head, first, rows, given, skip, gradients, scratch);         \
  }
HEED_EXPORT_ATTENTION_BACKWARD(float, f32)
HEED_EXPORT_ATTENTION_BACKWARD(double, f64)
#undef HEED_EXPORT_ATTENTION_BACKWARD

}  // namespace heed::kernels
#endif
