// The logits of a tile, which forward and backward share. A tile is kept transposed, [keys, queries], with
// queries along the lanes. So maximum and sum of a query never cross lanes, keys and values are only
// broadcast, and one micro-kernel does every product.
// Compiled anew for every SIMD target, hence no plain include guard.
#if defined(HEED_OPS_ATTENTION_KERNELS_TILE_LOGITS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_ATTENTION_KERNELS_TILE_LOGITS_TOGGLE
#undef HEED_OPS_ATTENTION_KERNELS_TILE_LOGITS_TOGGLE
#else
#define HEED_OPS_ATTENTION_KERNELS_TILE_LOGITS_TOGGLE
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <heed/ops/attention/kernels/head.h>
#include <heed/ops/attention/kernels/tile_mask-inl.h>
#include <heed/ops/kernels/exp-inl.h>
#include <heed/ops/kernels/product-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How the products of tiles read their first factor; see product-inl.h.
template <class T>
struct ByRows {
  static constexpr std::int64_t b_stride = stride<T>, c_stride = stride<T>;
  static constexpr bool transposed = false, streams = false;
};
template <class T>
struct ByColumns {
  static constexpr std::int64_t b_stride = stride<T>, c_stride = stride<T>;
  static constexpr bool transposed = true, streams = false;
};
struct ByRowsOfAnyStride {
  static constexpr std::int64_t b_stride = 0, c_stride = 0;
  static constexpr bool transposed = false, streams = false;
};

// The queries of a block, scaled, [size][64]; zeros after the last one.
template <class T>
HWY_INLINE void transpose_queries(const QueryBlock<T>& b, T* q_transposed) {
  const AttentionHead<T>& h = b.head;
  std::fill_n(q_transposed, h.size * stride<T>, T(0));
  transpose(q_transposed, stride<T>, h.q[b.first], h.q.stride, b.count, h.size, h.scale);
}

// s ← cap · tanh(s / cap) on n keys of a panel. `slope`, a tile if given, receives the derivative.
template <class T>
HWY_INLINE void apply_softcap(T cap, T* s, std::int64_t n, T* slope) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, cap), inverse = hn::Set(d, T(1) / cap), one = hn::Set(d, T(1));
  for (std::int64_t j = 0; j < n; ++j) {
    for (int v = 0; v < Panel<T>::lanes; v += Panel<T>::vector) {
      T* x = s + j * stride<T> + v;
      const auto t = hn::Tanh(d, hn::Mul(hn::LoadU(d, x), inverse));
      hn::StoreU(hn::Mul(t, factor), d, x);
      if (slope != nullptr) hn::StoreU(hn::NegMulAdd(t, t, one), d, slope + j * stride<T> + v);
    }
  }
}

// s ← s − slope · |position of the query − key| on n keys of a panel.
template <class T>
HWY_INLINE void subtract_distances(T slope_of_head, double position, std::int64_t key, T* s, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto slope = hn::Set(d, slope_of_head);
  for (int v = 0; v < Panel<T>::lanes; v += Panel<T>::vector) {
    const auto positions = hn::Iota(d, static_cast<T>(position + v));
    for (std::int64_t j = 0; j < n; ++j) {
      T* x = s + j * stride<T> + v;
      const auto distance = hn::Abs(hn::Sub(positions, hn::Set(d, static_cast<T>(key + j))));
      hn::StoreU(hn::NegMulAdd(slope, distance, hn::LoadU(d, x)), d, x);
    }
  }
}

// s[key][lanes] ← scale · q·k with softcap, bias and ALiBi, for the keys of a panel. What closed pairs get
// means nothing. `slope_of_cap`, a tile if given, receives d logit / d (scale · q·k).
template <class T>
HWY_INLINE void tile_logits(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                            const T* q_transposed, T* s, T* slope_of_cap) {
  const AttentionHead<T>& h = b.head;
  const std::int64_t key = tile.key + panel.begin, query = b.first + panel.lane;
  const std::int64_t at = panel.begin * stride<T> + panel.lane;
  product(ByRows<T>(), panel.keys(), s + at, stride<T>, h.k[key], h.k.stride, q_transposed + panel.lane,
          stride<T>, h.size, false);
  if (h.softcap > 0) {
    apply_softcap(h.softcap, s + at, panel.keys(), slope_of_cap == nullptr ? nullptr : slope_of_cap + at);
  }
  if (h.bias.data != nullptr) {
    const std::int64_t queries = std::min<std::int64_t>(Panel<T>::lanes, b.count - panel.lane);
    transpose<true>(s + at, stride<T>, h.bias[query] + key, h.bias.stride, queries, panel.keys(), T(1));
  }
  if (h.slope != 0) subtract_distances(h.slope, h.position(query), key, s + at, panel.keys());
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
