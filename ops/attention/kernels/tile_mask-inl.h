// Which pairs of a tile are open. A tile is 64 keys by 64 queries, and each query has a word of 64 bits, one
// for each key. A panel is the group of queries that one product takes. They lie along the lanes of the
// vectors, so the lanes that a key is open to are those whose words have its bit.
// Compiled anew for every SIMD target, hence no plain include guard.
#if defined(HEED_OPS_ATTENTION_KERNELS_TILE_MASK_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_ATTENTION_KERNELS_TILE_MASK_TOGGLE
#undef HEED_OPS_ATTENTION_KERNELS_TILE_MASK_TOGGLE
#else
#define HEED_OPS_ATTENTION_KERNELS_TILE_MASK_TOGGLE
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include <heed/ops/attention/kernels/head.h>
#include <heed/ops/kernels/product-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t block = attention_block;
template <class T>
inline constexpr std::int64_t stride = attention_stride<T>;

// A word whose bits 0 … count−1 are set.
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

// Bit j: the bias x[j] is not −inf, so it leaves its pair open.
template <class T>
HWY_INLINE std::uint64_t bits_without_minus_infinity(const T* x, std::int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t n = Panel<T>::vector;
  constexpr T minus_infinity = -std::numeric_limits<T>::infinity();
  const auto closed = hn::Set(d, minus_infinity);
  std::uint64_t bits = 0;
  std::int64_t j = 0;
  for (; j + n <= count; j += n) {
    std::uint64_t part = 0;
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, x + j), closed), reinterpret_cast<std::uint8_t*>(&part));
    bits |= part << j;
  }
  for (; j < count; ++j) bits |= static_cast<std::uint64_t>(x[j] != minus_infinity) << j;
  return bits;
}

// A word for each query of a block, with one bit for each key of a tile.
struct PairBits {
  std::uint64_t query[block];
  std::uint32_t half[2][block];  // the words' low and high halves

  // After all words were set.
  void split() {
    for (std::int64_t i = 0; i < block; ++i) {
      half[0][i] = static_cast<std::uint32_t>(query[i]);
      half[1][i] = static_cast<std::uint32_t>(query[i] >> 32);
    }
  }
  // The lanes of a vector of queries, the first of which is `at`, where the bit of key j is set.
  template <class D>
  HWY_INLINE hn::Mask<D> lanes(D d, std::int64_t at, std::int64_t j) const {
    const hn::RebindToUnsigned<D> du;
    if constexpr (sizeof(hn::TFromD<D>) == 8) {
      return hn::RebindMask(d, hn::TestBit(hn::LoadU(du, query + at), hn::Set(du, std::uint64_t{1} << j)));
    } else {
      const auto words = hn::LoadU(du, half[j >> 5] + at);
      return hn::RebindMask(d, hn::TestBit(words, hn::Set(du, std::uint32_t{1} << (j & 31))));
    }
  }
};

// One bit for each lane that is set.
template <class D>
HWY_INLINE std::uint64_t lanes_set(D d, hn::Mask<D> mask) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

// 64 keys by the 64 queries of a block.
struct Tile {
  std::int64_t key = 0;   // first
  std::int64_t keys = 0;  // 64, or fewer at the end
  PairBits open;          // not set in a full tile
  std::uint64_t any = 0;  // keys that are open to some query
  bool full = false;      // every pair is open, for 64 queries

  struct Range {
    std::int64_t begin, end;
  };
  // The keys between the first and the last one that is open to some of these queries.
  Range keys_of(std::int64_t first, std::int64_t count) const {
    if (full) return {0, keys};
    std::uint64_t some = 0;
    for (std::int64_t i = first; i < first + count; ++i) some |= open.query[i];
    return some == 0 ? Range{0, 0} : Range{std::countr_zero(some), 64 - std::countl_zero(some)};
  }
  // The queries between the first and the last one that some of these keys are open to.
  Range queries_of(std::int64_t first, std::int64_t count) const {
    Range range{0, block};
    if (full) return range;
    const std::uint64_t of_keys = low_bits(first + count) & ~low_bits(first);
    while (range.begin < range.end && (open.query[range.begin] & of_keys) == 0) ++range.begin;
    while (range.end > range.begin && (open.query[range.end - 1] & of_keys) == 0) --range.end;
    return range;
  }
};

// The part of a tile that belongs to the queries of one panel.
struct TilePanel {
  std::int64_t lane = 0;   // first query, in the block
  std::int64_t begin = 0;  // keys begin <= j < end of the tile; the others are closed to the whole panel
  std::int64_t end = 0;
  std::uint64_t every = 0;  // keys that are open to all queries of the panel
  const PairBits* open = nullptr;

  std::int64_t keys() const { return end - begin; }
  bool full() const { return every == (low_bits(end) & ~low_bits(begin)); }
};

// One block of queries of a head.
template <class T>
struct QueryBlock {
  const AttentionHead<T>& head;
  std::int64_t first;                 // query
  std::int64_t count;                 // queries, at most 64
  std::uint64_t skip;                 // queries that count as closed
  std::int64_t begin, end;            // keys open to some query lie here
  std::int64_t full_begin, full_end;  // keys between these are open to all 64, by begin and end of each query

  QueryBlock(const AttentionHead<T>& h, std::int64_t first_query, std::uint64_t skipped)
      : head(h),
        first(first_query),
        count(std::min(block, h.queries - first_query)),
        skip(skipped),
        begin(h.keys),
        end(0),
        full_begin(0),
        full_end(h.keys) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const bool dead = h.begin[i] >= h.end[i];
      begin = std::min(begin, dead ? h.keys : h.begin[i]);
      end = std::max(end, dead ? 0 : h.end[i]);
      full_begin = std::max(full_begin, h.begin[i]);
      full_end = std::min(full_end, h.end[i]);
    }
    if (count < block || skip != 0) full_end = full_begin;
  }

  // First key of the first tile. Tiles start at multiples of 64, whatever the mask closes.
  std::int64_t first_tile() const { return begin / block * block; }

  // Fills in the tile that starts at a key. False if all of it is closed.
  bool open_tile(std::int64_t key, Tile& tile) const {
    tile.key = key;
    tile.keys = std::min(block, head.keys - key);
    const std::uint64_t all = low_bits(tile.keys);
    tile.full = head.open.data == nullptr && head.bias.data == nullptr && full_begin <= key &&
                key + tile.keys <= full_end;
    tile.any = tile.full ? all : 0;
    if (tile.full) return true;
    fill_open(tile);
    std::uint64_t every = all;
    for (const std::uint64_t open : tile.open.query) tile.any |= open, every &= open;
    tile.full = every == all;
    return tile.any != 0;
  }

  // The pairs of a tile that are open.
  void fill_open(Tile& tile) const {
    std::uint64_t* open = tile.open.query;
    const std::int64_t* from = head.begin + first;
    const std::int64_t* to = head.end + first;
    for (std::int64_t i = 0; i < count; ++i) {  // without branches, so that it becomes vectors
      const std::int64_t low = std::max<std::int64_t>(from[i] - tile.key, 0);
      const std::int64_t high = std::min(to[i] - tile.key, tile.keys);
      const std::uint64_t below = ~std::uint64_t{0} >> (block - std::clamp<std::int64_t>(high, 1, block));
      const std::uint64_t above = ~std::uint64_t{0} << std::min(low, block - 1);
      open[i] = low < high ? below & above : 0;
    }
    std::fill(open + count, open + block, 0);
    for (std::uint64_t rest = skip; rest != 0; rest &= rest - 1) open[std::countr_zero(rest)] = 0;
    for (std::int64_t i = 0; i < count && (head.open.data != nullptr || head.bias.data != nullptr); ++i) {
      if (open[i] != 0 && head.open.data != nullptr) {
        open[i] &= bits_of(head.open[first + i] + tile.key, tile.keys);
      }
      if (open[i] != 0 && head.bias.data != nullptr) {
        open[i] &= bits_without_minus_infinity(head.bias[first + i] + tile.key, tile.keys);
      }
    }
    tile.open.split();
  }

  // The pairs of a tile whose weight dropout keeps.
  void fill_kept(const Tile& tile, PairBits& kept) const {
    for (std::int64_t i = 0; i < block; ++i) {
      kept.query[i] = i < count ? bits_of(head.keep[first + i] + tile.key, tile.keys) : 0;
    }
    kept.split();
  }
};

// Fills in the panel that starts at a query of the block. False if all of it is closed.
template <int lane_count>
HWY_INLINE bool open_panel(const Tile& tile, std::int64_t lane, TilePanel& panel) {
  panel.lane = lane;
  panel.open = &tile.open;
  if (tile.full) {
    panel.begin = 0, panel.end = tile.keys, panel.every = low_bits(tile.keys);
    return true;
  }
  std::uint64_t any = 0, every = ~std::uint64_t{0};
  for (int i = 0; i < lane_count; ++i) any |= tile.open.query[lane + i], every &= tile.open.query[lane + i];
  if (any == 0) return false;
  panel.begin = std::countr_zero(any);
  panel.end = 64 - std::countl_zero(any);
  panel.every = every;
  return true;
}

// Calls body(masked, begin, end) on runs of keys. `masked` is std::false_type for a run whose pairs are all
// open, otherwise std::true_type.
template <class Body>
HWY_INLINE void for_runs(const TilePanel& panel, Body&& body) {
  for (std::int64_t j = panel.begin; j < panel.end;) {
    const std::uint64_t rest = panel.every >> j;
    const bool open = (rest & 1) != 0;
    const std::int64_t run = open ? std::countr_one(rest) : std::countr_zero(rest);
    const std::int64_t end = std::min(panel.end, j + run);
    open ? body(std::false_type(), j, end) : body(std::true_type(), j, end);
    j = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
