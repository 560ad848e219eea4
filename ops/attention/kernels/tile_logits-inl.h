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

#undef HEED_TILE_PRODUCTS  // defined anew for each target

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

// How the products of tiles read their first factor; see product-inl.h. Rows of keys or values, for a tile:
template <class T>
struct IntoTile {
  static constexpr std::int64_t b_stride = stride<T>, c_stride = stride<T>;
  static constexpr bool transposed = false, streams = false;
};
// A tile, one row of the result for each query or for each key:
struct TileByQueries {
  static constexpr std::int64_t b_stride = 0, c_stride = 0;
  static constexpr bool transposed = true, streams = false;
};
struct TileByKeys {
  static constexpr std::int64_t b_stride = 0, c_stride = 0;
  static constexpr bool transposed = false, streams = false;
};

// Rows of the queries of a block times a factor, transposed: [size][64], with zeros after the last one.
template <class T>
HWY_INLINE void transpose_queries(std::int64_t count, Rows<const T> rows, std::int64_t size, T factor,
                                  T* transposed) {
  if (count < block) std::fill_n(transposed, size * stride<T>, T(0));
  transpose(transposed, stride<T>, rows.data, rows.stride, count, size, factor);
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

// s ← s − slope · |position of the query − key| on n keys of a panel. In f32 distances are exact below 2^24.
template <class T>
HWY_INLINE void subtract_distances(T slope_of_head, double position, std::int64_t key, T* s, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto slope = hn::Set(d, slope_of_head);
  for (int v = 0; v < Panel<T>::lanes; v += Panel<T>::vector) {
    const auto from_first = hn::Iota(d, static_cast<T>(position + v - static_cast<double>(key)));
    for (std::int64_t j = 0; j < n; ++j) {
      T* x = s + j * stride<T> + v;
      const auto distance = hn::Abs(hn::Sub(from_first, hn::Set(d, static_cast<T>(j))));
      hn::StoreU(hn::NegMulAdd(slope, distance, hn::LoadU(d, x)), d, x);
    }
  }
}

// c += a b for at most Panel<T>::rows rows and one panel, of which `columns` exist, in whole vectors.
template <class Kind, class T>
HWY_NOINLINE void add_product(Kind kind, std::int64_t columns, std::int64_t rows, T* c, std::int64_t ldc,
                              const T* a, const T* b, std::int64_t ldb, std::int64_t k) {
  constexpr int most = Panel<T>::rows, vectors = Panel<T>::vectors;
  if (columns < Panel<T>::lanes) {
    product_group<most, 1>(kind, rows, c, ldc, a, stride<T>, b, ldb, k, true);
  } else {
    product_group<most, vectors>(kind, rows, c, ldc, a, stride<T>, b, ldb, k, true);
  }
}

// The products of tiles are two dozen loops for each of their kinds. tile_products.cpp compiles them once.
#define HEED_TILE_PRODUCTS(EXTERN, T)                                                                     \
  EXTERN template void product(IntoTile<T>, std::int64_t, T*, std::int64_t, const T*, std::int64_t,       \
                               const T*, std::int64_t, std::int64_t, bool, Ahead<T>*);                    \
  EXTERN template void add_product(TileByQueries, std::int64_t, std::int64_t, T*, std::int64_t, const T*, \
                                   const T*, std::int64_t, std::int64_t);                                 \
  EXTERN template void add_product(TileByKeys, std::int64_t, std::int64_t, T*, std::int64_t, const T*,    \
                                   const T*, std::int64_t, std::int64_t);
#ifndef HEED_COMPILES_TILE_PRODUCTS
HEED_TILE_PRODUCTS(extern, float)
HEED_TILE_PRODUCTS(extern, double)
#endif

// size, in whole vectors.
template <class T>
HWY_INLINE std::int64_t padded(std::int64_t size) {
  return (size + Panel<T>::vector - 1) / Panel<T>::vector * Panel<T>::vector;
}

// Rows that a product can read in whole vectors: as they are, or a copy with zeros behind each row.
template <class T>
HWY_INLINE Rows<const T> whole_vectors(Rows<const T> from, std::int64_t rows, std::int64_t size, T* copy) {
  const std::int64_t width = padded<T>(size);
  if (width == size) return from;
  for (std::int64_t j = 0; j < rows; ++j) {
    std::copy_n(from[j], size, copy + j * width);
    std::fill_n(copy + j * width + size, width - size, T(0));
  }
  return {copy, width};
}

// to[query] += Σ_j tile[j][query] · rows[j] for the queries of a panel, over the keys j of the tile that are
// open to some query of a group. Rows have `width` elements, whole vectors.
template <class T>
HWY_INLINE void add_to_queries(const Tile& tile, const TilePanel& panel, const T* factors, Rows<const T> rows,
                               std::int64_t width, T* to, Ahead<T>& ahead) {
  for_groups<T>(Panel<T>::lanes, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const std::int64_t first = panel.lane + i;
    const auto [begin, end] = tile.keys_of(first, count);
    for (std::int64_t c = 0; c < width && begin < end; c += Panel<T>::lanes) {
      ahead.fetch(rows_ahead);
      add_product(TileByQueries(), width - c, count, to + first * width + c, width,
                  factors + begin * stride<T> + first, rows[begin] + c, rows.stride, end - begin);
    }
  });
}

// to[key] += Σ_i tile[key][i] · rows[i] for the keys of a tile, over the queries i that some key of a group
// is open to. Rows have `width` elements, whole vectors.
template <class T>
HWY_INLINE void add_to_keys(const Tile& tile, const T* factors, Rows<const T> rows, std::int64_t width,
                            Rows<T> to, Ahead<T>& ahead) {
  for_groups<T>(tile.keys, [&](std::int64_t j, std::int64_t count) HWY_ATTR {
    const auto [begin, end] = tile.queries_of(j, count);
    for (std::int64_t c = 0; c < width && begin < end; c += Panel<T>::lanes) {
      ahead.fetch(rows_ahead);
      add_product(TileByKeys(), width - c, count, to[tile.key + j] + c, to.stride,
                  factors + j * stride<T> + begin, rows[begin] + c, rows.stride, end - begin);
    }
  });
}

// Behind the last tile what the caller asks for is fetched.
template <class T>
HWY_INLINE void add_next(const AttentionNext<T>& next, Ahead<T>& ahead) {
  for (std::size_t i = 0; i < next.count; ++i) {
    ahead.add(next.groups[i].rows.data, next.groups[i].rows.stride, next.groups[i].count,
              next.groups[i].size);
  }
}

// s[key][lanes] ← scale · q·k with softcap, bias and ALiBi, for the keys of a panel. What closed pairs get
// means nothing. `slope_of_cap`, a tile if given, receives d logit / d (scale · q·k).
template <class T>
HWY_INLINE void tile_logits(const QueryBlock<T>& b, const Tile& tile, const TilePanel& panel,
                            const T* q_transposed, T* s, T* slope_of_cap, Ahead<T>& ahead) {
  const AttentionHead<T>& h = b.head;
  const std::int64_t key = tile.key + panel.begin, query = b.first + panel.lane;
  const std::int64_t at = panel.begin * stride<T> + panel.lane;
  product(IntoTile<T>(), panel.keys(), s + at, stride<T>, h.k[key], h.k.stride, q_transposed + panel.lane,
          stride<T>, h.size, false, &ahead);
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
