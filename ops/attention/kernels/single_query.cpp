#include <algorithm>
#include <bit>
#include <limits>

#include <heed/ops/attention/kernels/single_query.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/single_query.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/running_softmax-inl.h>
#include <heed/ops/attention/kernels/tile_logits-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// s[j] = q·k_j for begin <= j < end, q being scaled. Keys lie along the lanes; their rows are read once, in
// order, and transposed in registers, so that each product is the chain of additions that a tile has.
template <class T>
HWY_INLINE void scaled_products(const AttentionHead<T>& h, const T* q, std::int64_t begin, std::int64_t end,
                                T* s) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = Panel<T>::vector, square = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  const auto of_lanes = [&](std::int64_t j) HWY_ATTR {
    auto sum = hn::Zero(d);
    std::int64_t c = 0;
    for (; c + square <= h.size; c += square) {
      hn::Vec<decltype(d)> y[square];
      load_transposed(d, h.k[j] + c, h.k.stride, y);
      for (std::int64_t x = 0; x < square; ++x) sum = hn::MulAdd(y[x], hn::Set(d, q[c + x]), sum);
    }
    for (; c < h.size; ++c) {
      HWY_ALIGN T column[lanes];
      for (std::int64_t x = 0; x < lanes; ++x) column[x] = h.k[j + x][c];
      sum = hn::MulAdd(hn::Load(d, column), hn::Set(d, q[c]), sum);
    }
    hn::StoreU(sum, d, s + j);
  };
  std::int64_t j = begin;
  for (; j + lanes <= end; j += lanes) of_lanes(j);
  if (j == end) return;
  if (end - begin >= lanes) return of_lanes(end - lanes);  // some of them again
  const hn::FixedTag<T, 1> one;
  for (; j < end; ++j) {
    auto sum = hn::Zero(one);
    for (std::int64_t c = 0; c < h.size; ++c) {
      sum = hn::MulAdd(hn::Set(one, h.k[j][c]), hn::Set(one, q[c]), sum);
    }
    s[j] = hn::GetLane(sum);
  }
}

// Softcap, bias and ALiBi. What closed pairs get means nothing.
template <class T>
HWY_INLINE void finish_logits(const AttentionHead<T>& h, std::int64_t begin, std::int64_t end, T* s) {
  const hn::ScalableTag<T> d;
  for_lanes(d, end - begin, [&](std::int64_t at, std::size_t count) HWY_ATTR {
    const std::int64_t j = begin + at;
    auto x = load(d, s + j, count);
    if (h.softcap > 0)
      x = hn::Mul(hn::Tanh(d, hn::Mul(x, hn::Set(d, T(1) / h.softcap))), hn::Set(d, h.softcap));
    if (h.bias.data != nullptr) x = hn::Add(x, load(d, h.bias[0] + j, count));
    if (h.slope != 0) {
      const auto distance = hn::Abs(hn::Iota(d, static_cast<T>(static_cast<double>(j) - h.position(0))));
      x = hn::NegMulAdd(hn::Set(d, h.slope), distance, x);
    }
    store(x, d, s + j, count);
  });
}

// The logits s of n keys join the running softmax and become exp(s − m), 0 where `closed` has a bit.
template <class T>
HWY_INLINE void update_running_softmax(std::uint64_t closed, std::int64_t n, bool with_moment, T* s,
                                       RunningSoftmax<T>& softmax) {
  const hn::ScalableTag<T> d;
  const auto set_closed = [&](T* row, T x) {
    for (std::uint64_t rest = closed; rest != 0; rest &= rest - 1) row[std::countr_zero(rest)] = x;
  };
  set_closed(s, T(0));
  auto nonfinite = hn::Zero(d);
  for_lanes(d, n, [&](std::int64_t j, std::size_t count) HWY_ATTR {
    nonfinite = hn::MulAdd(load(d, s + j, count), hn::Zero(d), nonfinite);
  });
  softmax.nonfinite[0] += hn::GetLane(hn::SumOfLanes(d, nonfinite));
  set_closed(s, -std::numeric_limits<T>::infinity());
  const auto former = hn::LoadU(d, softmax.max);
  const T max = std::max(softmax.max[0], row_max(d, s, n));
  HWY_ALIGN T shifts[Panel<T>::vector] = {};
  shifts[0] = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
  if (max > softmax.max[0]) {
    if (with_moment) {
      rescale_sums<true>(d, former, hn::Load(d, shifts), 0, softmax);
    } else {
      rescale_sums<false>(d, former, hn::Load(d, shifts), 0, softmax);
    }
    softmax.max[0] = max;
  }
  T terms[block];
  for_lanes(d, n, [&](std::int64_t j, std::size_t count) HWY_ATTR {
    const auto x = hn::Sub(load(d, s + j, count), hn::Set(d, shifts[0]));
    const auto e = exp_share(d, x);
    store(e, d, s + j, count);
    store(hn::Mul(e, x), d, terms + j, count);
  });
  set_closed(s, T(0));
  set_closed(terms, T(0));
  for (std::int64_t j = 0; j < n; ++j) softmax.sum[0] += s[j];
  for (std::int64_t j = 0; j < n && with_moment; ++j) softmax.moment[0] += terms[j];
}

// o += Σ_j weights[j] · v_j over n keys, without those where `closed` has a bit.
template <class T>
HWY_INLINE void add_values(Rows<const T> v, std::int64_t value_size, std::int64_t n, std::uint64_t closed,
                           const T* weights, T* o) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = Panel<T>::vector;
  constexpr std::int64_t most = 4;  // vectors of the result that stay in registers
  for (std::int64_t c = 0; c < value_size; c += most * lanes) {
    const auto count_of = [&](std::int64_t x) {
      return static_cast<std::size_t>(std::clamp<std::int64_t>(value_size - c - x * lanes, 0, lanes));
    };
    hn::Vec<decltype(d)> sums[most];
    unrolled<most>([&](auto x) HEED_INLINE_LAMBDA {
      sums[x] = count_of(x) > 0 ? hn::LoadU(d, o + c + x * lanes) : hn::Zero(d);
    });
    for (std::int64_t j = 0; j < n; ++j) {
      if ((closed >> j & 1) != 0) continue;
      const auto weight = hn::Set(d, weights[j]);
      unrolled<most>([&](auto x) HEED_INLINE_LAMBDA {
        if (count_of(x) > 0) {
          sums[x] = hn::MulAdd(weight, load(d, v[j] + c + x * lanes, count_of(x)), sums[x]);
        }
      });
    }
    unrolled<most>([&](auto x) HEED_INLINE_LAMBDA {
      if (count_of(x) > 0) hn::StoreU(sums[x], d, o + c + x * lanes);
    });
  }
}

// The steps of `forward_of` in forward.cpp for one query: the same additions in the same order.
template <class T>
HWY_INLINE bool query_of(const AttentionHead<T>& h, Rows<T> output, const AttentionRows<T>& rows,
                         T* scratch) {
  const QueryBlock<T> b(h, 0, 0);
  T* s = scratch;
  T* q = s + h.keys;
  RunningSoftmax<T> softmax(q + h.size, h.value_size, 1);
  for (std::int64_t c = 0; c < h.size; ++c) q[c] = h.q[0][c] * h.scale;
  if (b.begin < b.end) {
    scaled_products(h, q, b.begin, b.end, s);
    finish_logits(h, b.begin, b.end, s);
  }
  Tile tile;
  PairBits kept;
  for (std::int64_t key = b.first_tile(); key < b.end; key += block) {
    if (!b.open_tile(key, tile)) continue;
    const auto [begin, end] = tile.keys_of(0, 1);
    const std::int64_t n = end - begin;
    const std::uint64_t closed = ~(tile.open.query[0] >> begin) & low_bits(n);
    T* weights = s + key + begin;
    update_running_softmax(closed, n, rows.moment != nullptr, weights, softmax);
    if (h.keep.data != nullptr) {
      b.fill_kept(tile, kept);
      for (std::int64_t j = 0; j < n; ++j) {
        if ((kept.query[0] >> (begin + j) & 1) == 0) weights[j] = T(0);
      }
    }
    add_values<T>({h.v[key + begin], h.v.stride}, h.value_size, n, closed, weights, softmax.output);
  }
  finish_rows(b, softmax, rows);
  return write_output(b, softmax, output) == 0;
}

#define HEED_ATTENTION_QUERY_FOR(T, S)                                                                     \
  bool query_##S(const AttentionHead<T>& head, Rows<T> output, const AttentionRows<T>& rows, T* scratch) { \
    return query_of(head, output, rows, scratch);                                                          \
  }
HEED_ATTENTION_QUERY_FOR(float, f32)
HEED_ATTENTION_QUERY_FOR(double, f64)
#undef HEED_ATTENTION_QUERY_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

std::int64_t attention_query_scratch(std::int64_t keys, std::int64_t size, std::int64_t value_size) {
  constexpr std::int64_t most_lanes = 16;  // of a vector, on any target
  return keys + size + value_size + most_lanes;
}

#define HEED_EXPORT_ATTENTION_QUERY(T, S)                                                          \
  HWY_EXPORT(query_##S);                                                                           \
  template <>                                                                                      \
  bool attention_query(const AttentionHead<T>& head, Rows<T> output, const AttentionRows<T>& rows, \
                       T* scratch) {                                                               \
    return HWY_DYNAMIC_DISPATCH(query_##S)(head, output, rows, scratch);                           \
  }
HEED_EXPORT_ATTENTION_QUERY(float, f32)
HEED_EXPORT_ATTENTION_QUERY(double, f64)
#undef HEED_EXPORT_ATTENTION_QUERY

}  // namespace heed::kernels
#endif
