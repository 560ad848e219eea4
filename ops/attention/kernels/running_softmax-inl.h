// The state of attention with a running softmax, and how it ends in results. Compiled anew for every SIMD
// target, hence no plain include guard.
#if defined(HEED_OPS_ATTENTION_KERNELS_RUNNING_SOFTMAX_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_ATTENTION_KERNELS_RUNNING_SOFTMAX_TOGGLE
#undef HEED_OPS_ATTENTION_KERNELS_RUNNING_SOFTMAX_TOGGLE
#else
#define HEED_OPS_ATTENTION_KERNELS_RUNNING_SOFTMAX_TOGGLE
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include <heed/ops/attention/kernels/tile_logits-inl.h>
#include <heed/ops/kernels/lanes-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Running softmax of a block of queries, each of which has a lane.
template <class T>
struct RunningSoftmax {
  T max[block];        // m: largest logit so far; −inf before the first open key
  T sum[block];        // Z = Σ exp(s − m)
  T moment[block];     // Σ exp(s − m) (s − m), which the entropy needs
  T nonfinite[block];  // 0; NaN once a logit or result was not finite
  std::int64_t width;  // value size, in whole vectors
  T* output;           // o = Σ exp(s − m) v, [queries][width]

  RunningSoftmax(T* memory, std::int64_t value_size, std::int64_t queries)
      : width(padded<T>(value_size)), output(memory) {
    std::fill_n(max, block, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, block, T(0));
    std::fill_n(moment, block, T(0));
    std::fill_n(nonfinite, block, T(0));
    std::fill_n(output, queries * width, T(0));
  }
};

// Where the maximum grew from `former` to `shift`: the sums so far become sums of exp(s − shift).
template <bool with_moment, class D, class T>
HWY_INLINE void rescale_sums(D d, hn::Vec<D> former, hn::Vec<D> shift, std::int64_t at,
                             RunningSoftmax<T>& softmax) {
  const auto none = hn::Eq(former, hn::Set(d, -std::numeric_limits<T>::infinity()));  // no open key so far
  const auto change = hn::IfThenElse(none, hn::Zero(d), hn::Sub(former, shift));
  const auto factor = exp_share(d, change);
  const auto sum = hn::LoadU(d, softmax.sum + at);
  if (with_moment) {
    const auto moment = hn::LoadU(d, softmax.moment + at);
    hn::StoreU(hn::Mul(factor, hn::MulAdd(change, sum, moment)), d, softmax.moment + at);
  }
  hn::StoreU(hn::Mul(sum, factor), d, softmax.sum + at);
  T factors[Panel<T>::vector];
  hn::StoreU(factor, d, factors);
  for (std::uint64_t rest = lanes_set(d, hn::Lt(change, hn::Zero(d))); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    T* row = softmax.output + (at + lane) * softmax.width;
    for (std::int64_t c = 0; c < softmax.width; c += Panel<T>::vector) {
      hn::StoreU(hn::Mul(hn::LoadU(d, row + c), hn::Set(d, factors[lane])), d, row + c);
    }
  }
}

// Adds the sink, a logit without a value, to query i of the block. Returns the factor by which o shrinks.
template <class T>
HWY_INLINE T join_sink(T sink, std::int64_t i, RunningSoftmax<T>& softmax) {
  T &max = softmax.max[i], &sum = softmax.sum[i], &moment = softmax.moment[i];
  const T larger = std::max(max, sink);
  if (!(larger > -std::numeric_limits<T>::infinity())) return T(1);
  const T change = sum == 0 ? T(0) : max - larger;
  const T shrink = sum == 0 ? T(0) : std::exp(max - larger);
  const T e = std::exp(sink - larger);
  moment = shrink * (moment + change * sum) + (e == 0 ? T(0) : e * (sink - larger));
  sum = shrink * sum + e;
  max = larger;
  return shrink;
}

// Writes maximum and sum of each query, the sink included. Then reuses softmax.sum, which is not needed any
// more, for the factor that `write_output` multiplies o by.
template <class T>
HWY_INLINE void finish_rows(const QueryBlock<T>& b, RunningSoftmax<T>& softmax,
                            const AttentionRows<T>& rows) {
  const AttentionHead<T>& h = b.head;
  for (std::int64_t i = 0; i < b.count; ++i) {
    const std::int64_t q = b.first + i;
    T factor = h.keep_scale;
    if (rows.largest_logit != nullptr) rows.largest_logit[q] = softmax.max[i];
    if (h.has_sink) factor *= join_sink(h.sink, i, softmax);
    rows.max[q] = softmax.max[i];
    rows.sum[q] = softmax.sum[i];
    if (rows.moment != nullptr) rows.moment[q] = softmax.moment[i];
    softmax.sum[i] = softmax.sum[i] == 0 ? T(0) : factor / softmax.sum[i];
  }
}

// output ← o · factor. Returns one bit per query: set if a logit or a result of it was not finite.
template <class T>
HWY_INLINE std::uint64_t write_output(const QueryBlock<T>& b, const RunningSoftmax<T>& softmax,
                                      Rows<T> output) {
  const hn::ScalableTag<T> d;
  std::uint64_t nonfinite = 0;
  for (std::int64_t i = 0; i < b.count; ++i) {
    const auto factor = hn::Set(d, softmax.sum[i]);
    auto zero = hn::Set(d, softmax.nonfinite[i]);  // NaN once something is not finite
    for_lanes(d, b.head.value_size, [&](std::int64_t c, std::size_t count) HWY_ATTR {
      const auto x = hn::Mul(hn::LoadU(d, softmax.output + i * softmax.width + c), factor);
      zero = hn::MulAdd(x, hn::Zero(d), zero);
      store(x, d, output[b.first + i] + c, count);
    });
    nonfinite |= static_cast<std::uint64_t>(!hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)))) << i;
  }
  return nonfinite;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
