#include <algorithm>
#include <limits>

#include <heed/ops/attention/kernels/row_softmax.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/row_softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void attention_row_of(T* s, std::int64_t begin, std::int64_t end, std::int64_t n, T scale,
                                 const T* add) {
  const hn::ScalableTag<T> d;
  constexpr T minus_infinity = -std::numeric_limits<T>::infinity();
  const auto factor = hn::Set(d, scale);
  const std::int64_t open = end - begin;
  T* row = s + begin;
  std::fill(s, row, T(0));
  std::fill(s + end, s + n, T(0));
  for_lanes(d, open, [&](std::int64_t i, std::size_t count) {
    auto v = hn::Mul(load(d, row + i, count), factor);
    if (add != nullptr) {
      // A closed logit is dropped, not added to: it may be NaN.
      const auto a = load(d, add + begin + i, count);
      v = hn::IfThenElse(hn::Eq(a, hn::Set(d, minus_infinity)), a, hn::Add(v, a));
    }
    store(v, d, row + i, count);
  });
  const T max = row_max(d, row, open);
  if (max == minus_infinity) {
    std::fill(row, row + open, T(0));
    return;
  }
  const auto inverse = hn::Set(d, T(1) / exp_sum(d, row, row, max, open));
  for_lanes(d, open, [&](std::int64_t i, std::size_t count) {
    store(hn::Mul(load(d, row + i, count), inverse), d, row + i, count);
  });
}

template <class T>
HWY_INLINE void attention_vjp_row_of(const T* p, T* dp, std::int64_t begin, std::int64_t end, std::int64_t n,
                                     T scale, T delta) {
  const hn::ScalableTag<T> d;
  std::fill(dp, dp + begin, T(0));
  std::fill(dp + end, dp + n, T(0));
  for_lanes(d, end - begin, [&](std::int64_t i, std::size_t count) {
    const auto w = hn::Mul(load(d, p + begin + i, count), hn::Set(d, scale));
    store(hn::Mul(w, hn::Sub(load(d, dp + begin + i, count), hn::Set(d, delta))), d, dp + begin + i, count);
  });
}

template <class T>
HWY_INLINE T dot_row_of(const T* a, const T* b, std::int64_t n) {
  const hn::ScalableTag<T> d;
  auto total = hn::Zero(d);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    total = hn::MulAdd(load(d, a + i, count), load(d, b + i, count), total);
  });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

#define HEED_ATTENTION_FOR(T, S)                                                                      \
  void attention_row_##S(T* s, std::int64_t begin, std::int64_t end, std::int64_t n, T scale,         \
                         const T* add) {                                                              \
    attention_row_of(s, begin, end, n, scale, add);                                                   \
  }                                                                                                   \
  void attention_vjp_row_##S(const T* p, T* dp, std::int64_t begin, std::int64_t end, std::int64_t n, \
                             T scale, T delta) {                                                      \
    attention_vjp_row_of(p, dp, begin, end, n, scale, delta);                                         \
  }                                                                                                   \
  T dot_row_##S(const T* a, const T* b, std::int64_t n) { return dot_row_of(a, b, n); }
HEED_ATTENTION_FOR(float, f32)
HEED_ATTENTION_FOR(double, f64)
#undef HEED_ATTENTION_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_ATTENTION(T, S)                                                                        \
  HWY_EXPORT(attention_row_##S);                                                                           \
  HWY_EXPORT(attention_vjp_row_##S);                                                                       \
  HWY_EXPORT(dot_row_##S);                                                                                 \
  template <>                                                                                              \
  void attention_row(T* s, std::int64_t begin, std::int64_t end, std::int64_t n, T scale, const T* add) {  \
    HWY_DYNAMIC_DISPATCH(attention_row_##S)(s, begin, end, n, scale, add);                                 \
  }                                                                                                        \
  template <>                                                                                              \
  void attention_vjp_row(const T* p, T* dp, std::int64_t begin, std::int64_t end, std::int64_t n, T scale, \
                         T delta) {                                                                        \
    HWY_DYNAMIC_DISPATCH(attention_vjp_row_##S)(p, dp, begin, end, n, scale, delta);                       \
  }                                                                                                        \
  template <>                                                                                              \
  T dot_row(const T* a, const T* b, std::int64_t n) {                                                      \
    return HWY_DYNAMIC_DISPATCH(dot_row_##S)(a, b, n);                                                     \
  }
HEED_EXPORT_ATTENTION(float, f32)
HEED_EXPORT_ATTENTION(double, f64)
#undef HEED_EXPORT_ATTENTION

}  // namespace heed::kernels
#endif
