// What forward and backward tiles of attention share. Queries lie along the lanes: a tile of logits is kept transposed,
// [keys, queries], so that maximum and sum of a row are vertical, keys and values are only broadcast, and every product
// is one micro-kernel. Compiled anew for every SIMD target, hence no plain include guard.
#if defined(HEED_OPS_KERNELS_ATTENTION_TILE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_ATTENTION_TILE_TOGGLE
#undef HEED_OPS_KERNELS_ATTENTION_TILE_TOGGLE
#else
#define HEED_OPS_KERNELS_ATTENTION_TILE_TOGGLE
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <heed/ops/attention/kernels/blocks.h>
#include <heed/ops/kernels/exp-inl.h>
#include <heed/ops/kernels/product-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t block = attention_block;

// The products of tiles; see product-inl.h.
struct ByRows {
  static constexpr std::int64_t b_stride = block, c_stride = block;
  static constexpr bool transposed = false;
};
struct ByColumns {
  static constexpr std::int64_t b_stride = block, c_stride = block;
  static constexpr bool transposed = true;
};
struct ByRowsOfAnyStride {
  static constexpr std::int64_t b_stride = 0, c_stride = 0;
  static constexpr bool transposed = false;
};

// Bits of 0 <= i < count.
inline std::uint64_t low_bits(std::int64_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max<std::int64_t>(count, 0)) - 1;
}

// Bit j is x[j], for j < count <= 64.
inline std::uint64_t bits_of(const bool* x, std::int64_t count) {
  std::uint64_t bits = 0;
  std::int64_t j = 0;
  for (; j + 8 <= count; j += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, x + j, 8);
    bits |= ((bytes * 0x0102040810204080u) >> 56) << j;  // gathers the low bits of eight bytes
  }
  for (; j < count; ++j) bits |= static_cast<std::uint64_t>(x[j]) << j;
  return bits;
}

template <class T>
HWY_INLINE std::uint64_t finite_bits(const T* x, std::int64_t count) {  // bit j: x[j] is not −inf
  const hn::ScalableTag<T> d;
  constexpr std::int64_t n = Panel<T>::vector;
  const auto closed = hn::Set(d, -std::numeric_limits<T>::infinity());
  std::uint64_t bits = 0;
  std::int64_t j = 0;
  for (; j + n <= count; j += n) {
    std::uint64_t part = 0;
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, x + j), closed), reinterpret_cast<std::uint8_t*>(&part));
    bits |= part << j;
  }
  for (; j < count; ++j) bits |= static_cast<std::uint64_t>(x[j] != -std::numeric_limits<T>::infinity()) << j;
  return bits;
}

// 8 × 8 bits: bit c of byte r becomes bit r of byte c (Hacker's Delight, 7-3).
inline std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
  return x ^ t ^ (t << 28);
}

// A tile of pairs as bits: query i's word holds its keys.
struct TileBits {
  std::uint64_t query[block];
  std::uint64_t any = 0;  // keys open to some query
  bool full = false;      // all pairs of all 64 queries are open
};

// Words of keys turned into words of lanes: lanes[j] holds bit i for query i of the panel.
template <int kLanes>
HWY_INLINE void lanes_of(const std::uint64_t* query, std::uint32_t* lanes) {
  static_assert(kLanes <= 32);
  for (int j = 0; j < block; ++j) lanes[j] = 0;
  for (int j = 0; j < block; j += 8) {
    for (int i = 0; i < kLanes; i += 8) {
      std::uint64_t square = 0;
      for (int r = 0; r < 8 && i + r < kLanes; ++r) square |= ((query[i + r] >> j) & 0xFF) << (8 * r);
      square = transpose_bits(square);
      for (int c = 0; c < 8; ++c) lanes[j + c] |= static_cast<std::uint32_t>((square >> (8 * c)) & 0xFF) << i;
    }
  }
}

template <class D>
HWY_INLINE hn::Mask<D> lane_mask(D d, std::uint32_t lanes, int vector) {
  const std::uint64_t bits = lanes >> (vector * static_cast<int>(hn::MaxLanes(d)));
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
}

// One block of queries of a head.
template <class T>
struct Block {
  const AttentionHead<T>& head;
  std::int64_t first;                 // query
  std::int64_t count;                 // queries, at most 64
  std::uint64_t skip;                 // queries that count as closed
  std::int64_t begin, end;            // keys open to some query lie here
  std::int64_t full_begin, full_end;  // keys between these are open to all 64 as far as ranges tell

  Block(const AttentionHead<T>& h, std::int64_t first_query, std::uint64_t skipped)
      : head(h), first(first_query), count(std::min(block, h.queries - first_query)), skip(skipped) {
    begin = h.keys, end = 0, full_begin = 0, full_end = h.keys;
    for (std::int64_t i = first; i < first + count; ++i) {
      full_begin = std::max(full_begin, h.begin[i]);
      full_end = std::min(full_end, h.end[i]);
      if (h.begin[i] >= h.end[i]) continue;
      begin = std::min(begin, h.begin[i]);
      end = std::max(end, h.end[i]);
    }
    if (count < block || skip != 0) full_end = full_begin;
  }

  // Tiles start at multiples of 64, whatever the mask closes.
  std::int64_t first_tile() const { return begin / block * block; }

  // Which pairs of keys [key, key + keys) are open.
  void bits(std::int64_t key, std::int64_t keys, TileBits& tile) const {
    const std::uint64_t all = low_bits(keys);
    tile.full = false;
    if (head.open.data == nullptr && head.bias.data == nullptr && full_begin <= key &&
        key + keys <= full_end) {
      tile.full = true;
      tile.any = all;
      return;
    }
    tile.any = 0;
    std::uint64_t every = all;
    for (std::int64_t i = 0; i < block; ++i) {
      std::uint64_t word = 0;
      if (i < count && (skip >> i & 1) == 0) {
        const std::int64_t q = first + i;
        word = all & low_bits(head.end[q] - key) & ~low_bits(head.begin[q] - key);
        if (word != 0 && head.open.data != nullptr) word &= bits_of(head.open[q] + key, keys);
        if (word != 0 && head.bias.data != nullptr) word &= finite_bits(head.bias[q] + key, keys);
      }
      tile.query[i] = word;
      tile.any |= word;
      every &= word;
    }
    tile.full = every == all;
  }

  // Turned words of what dropout keeps, for one panel.
  template <int kLanes>
  void kept(std::int64_t key, std::int64_t keys, std::int64_t lane, std::uint32_t* lanes) const {
    std::uint64_t query[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const bool inside = lane + i < count;
      query[i] = inside ? bits_of(head.keep[first + lane + i] + key, keys) : 0;
    }
    lanes_of<kLanes>(query, lanes);
  }
};

// The part of a tile that one panel of queries works on.
struct PanelBits {
  std::int64_t begin, end;  // keys of the tile
  std::uint64_t every;      // keys open to all queries of the panel
  std::uint32_t lanes[block];

  bool full() const { return every == (low_bits(end) & ~low_bits(begin)); }
};

// Calls body(masked, begin, end) on runs of keys: masked is std::false_type where every pair of the run is open.
template <class Body>
HWY_INLINE void for_runs(const PanelBits& panel, Body&& body) {
  for (std::int64_t j = panel.begin; j < panel.end;) {
    const std::uint64_t rest = panel.every >> j;
    const bool open = (rest & 1) != 0;
    const std::int64_t run = open ? std::countr_one(rest) : std::countr_zero(rest);
    const std::int64_t end = std::min(panel.end, j + run);
    open ? body(std::false_type(), j, end) : body(std::true_type(), j, end);
    j = end;
  }
}

// False if nothing is open.
template <int kLanes>
HWY_INLINE bool panel_bits(const TileBits& tile, std::int64_t keys, std::int64_t lane, PanelBits& panel) {
  if (tile.full) {
    panel.begin = 0, panel.end = keys, panel.every = low_bits(keys);
    return true;
  }
  std::uint64_t any = 0, every = ~std::uint64_t{0};
  for (int i = 0; i < kLanes; ++i) any |= tile.query[lane + i], every &= tile.query[lane + i];
  if (any == 0) return false;
  panel.begin = std::countr_zero(any);
  panel.end = 64 - std::countl_zero(any);
  panel.every = every;
  if (!panel.full()) lanes_of<kLanes>(tile.query + lane, panel.lanes);
  return true;
}

// Logits of one panel: s[j][lanes] for keys j of the panel's range, row stride 64, softcap and additive parts applied.
// `slope_of_cap`, if given, receives d logit / d scaled product.
template <class T>
HWY_INLINE void panel_logits(const Block<T>& b, std::int64_t key, std::int64_t lane, const PanelBits& panel,
                             const T* q_turned, T* s, T* slope_of_cap) {
  const hn::ScalableTag<T> d;
  using P = Panel<T>;
  const AttentionHead<T>& h = b.head;
  const std::int64_t n = panel.end - panel.begin;
  T* at = s + panel.begin * block + lane;
  product(ByRows(), n, at, h.k[key + panel.begin], h.k.stride, q_turned + lane, block, h.size, false);
  if (h.softcap > 0) {
    const auto cap = hn::Set(d, h.softcap), inverse = hn::Set(d, T(1) / h.softcap), one = hn::Set(d, T(1));
    for (std::int64_t j = 0; j < n; ++j) {
      for (int v = 0; v < P::lanes; v += P::vector) {
        T* x = at + j * block + v;
        const auto t = hn::Tanh(d, hn::Mul(hn::LoadU(d, x), inverse));
        hn::StoreU(hn::Mul(t, cap), d, x);
        if (slope_of_cap != nullptr) {
          hn::StoreU(hn::NegMulAdd(t, t, one), d, slope_of_cap + (x - s));
        }
      }
    }
  }
  if (h.bias.data != nullptr) {
    const std::int64_t rows = std::min<std::int64_t>(P::lanes, b.count - lane);
    transpose<true>(at, block, h.bias[b.first + lane] + key + panel.begin, h.bias.stride, rows, n, T(1));
  }
  if (h.slope != 0) {
    const auto slope = hn::Set(d, h.slope);
    for (int v = 0; v < P::lanes; v += P::vector) {
      const auto position = hn::Iota(d, static_cast<T>(h.first_position + b.first + lane + v));
      for (std::int64_t j = 0; j < n; ++j) {
        T* x = at + j * block + v;
        const auto distance = hn::Abs(hn::Sub(position, hn::Set(d, static_cast<T>(key + panel.begin + j))));
        hn::StoreU(hn::NegMulAdd(slope, distance, hn::LoadU(d, x)), d, x);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
