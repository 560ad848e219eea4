// Vector loops over a row, shared by kernels. Compiled anew for every SIMD target, hence
// no plain include guard.
#if defined(HEED_OPS_KERNELS_LANES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_LANES_TOGGLE
#undef HEED_OPS_KERNELS_LANES_TOGGLE
#else
#define HEED_OPS_KERNELS_LANES_TOGGLE
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include <heed/ops/kernels/exp-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Walks a row in whole vectors and one partial one: body(index, lanes). Partial loads fill with zeros.
template <class D, class Body>
HWY_INLINE void for_lanes(D d, std::int64_t n, Body&& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, static_cast<std::size_t>(lanes));
  if (i < n) body(i, static_cast<std::size_t>(n - i));
}

// The first `count` lanes from memory, zeros behind. Below AVX2 a masked load is an aligned whole one, which
// may neither be aligned nor end inside the array; there the lanes pass through a buffer.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_some(D d, const T* from, std::size_t count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(d, lanes);
#endif
}

template <class D, class T>
HWY_INLINE void store_some(hn::Vec<D> v, D d, T* to, std::size_t count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::copy_n(lanes, count, to);
#endif
}

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from, std::size_t count) {
  return count == hn::Lanes(d) ? hn::LoadU(d, from) : load_some(d, from, count);
}

template <class D, class T>
HWY_INLINE void store(hn::Vec<D> v, D d, T* to, std::size_t count) {
  if (count == hn::Lanes(d)) {
    hn::StoreU(v, d, to);
  } else {
    store_some(v, d, to, count);
  }
}

// Lanes beyond `count` set to `fill`.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_or(D d, const T* from, std::size_t count, T fill) {
  if (count == hn::Lanes(d)) return hn::LoadU(d, from);
  return hn::IfThenElse(hn::FirstN(d, count), load_some(d, from, count), hn::Set(d, fill));
}

// Σ a b
template <class T>
HWY_INLINE T dot_row_of(const T* a, const T* b, std::int64_t n) {
  const hn::ScalableTag<T> d;
  auto total = hn::Zero(d);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) HWY_ATTR {
    total = hn::MulAdd(load(d, a + i, count), load(d, b + i, count), total);
  });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

template <class D, class T>
HWY_INLINE T row_max(D d, const T* x, std::int64_t n) {
  auto top = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto nan = hn::FirstN(d, 0);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    const auto v = load_or(d, x + i, count, -std::numeric_limits<T>::infinity());
    nan = hn::Or(nan, hn::IsNaN(v));
    top = hn::Max(top, v);
  });
  if (!hn::AllFalse(d, nan)) return std::numeric_limits<T>::quiet_NaN();
  // Highway's EMU128 would return the least finite number.
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  return hn::AllTrue(d, hn::Eq(top, hn::Set(d, lowest))) ? lowest : hn::GetLane(hn::MaxOfLanes(d, top));
}

// scale · e^(x − max) into y where y is given; returns Σ e^(x − max).
template <class D, class T>
HWY_INLINE T exp_sum(D d, const T* x, T* y, T max, std::int64_t n, T scale = 1) {
  const auto shift = hn::Set(d, max);
  auto total = hn::Zero(d);
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    const auto v = hn::Sub(load_or(d, x + i, count, -std::numeric_limits<T>::infinity()), shift);
    auto e = exp_below_zero(d, v);
    if (y != nullptr) store(hn::Mul(e, hn::Set(d, scale)), d, y + i, count);
    if (count != hn::Lanes(d)) e = hn::IfThenElseZero(hn::FirstN(d, count), e);
    total = hn::Add(total, e);
  });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
