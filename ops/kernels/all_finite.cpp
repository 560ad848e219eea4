#include <heed/ops/kernels/all_finite.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/all_finite.cpp"
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
HWY_INLINE bool all_finite_of(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  auto total = hn::Zero(d);  // 0 · x is NaN for NaN and infinities, else 0
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    total = hn::MulAdd(load(d, x + i, count), hn::Zero(d), total);
  });
  return hn::AllTrue(d, hn::Eq(total, hn::Zero(d)));
}

bool all_finite_f32(const float* x, std::int64_t n) { return all_finite_of(x, n); }
bool all_finite_f64(const double* x, std::int64_t n) { return all_finite_of(x, n); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(all_finite_f32);
HWY_EXPORT(all_finite_f64);

template <>
bool all_finite(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(all_finite_f32)(x, n);
}
template <>
bool all_finite(const double* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(all_finite_f64)(x, n);
}

}  // namespace heed::kernels
#endif
