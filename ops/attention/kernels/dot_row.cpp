#include <heed/ops/attention/kernels/dot_row.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/dot_row.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#define HEED_DOT_ROW_FOR(T, S) \
  T dot_row_##S(const T* a, const T* b, std::int64_t n) { return dot_row_of(a, b, n); }
HEED_DOT_ROW_FOR(float, f32)
HEED_DOT_ROW_FOR(double, f64)
#undef HEED_DOT_ROW_FOR

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

#define HEED_EXPORT_DOT_ROW(T, S)                      \
  HWY_EXPORT(dot_row_##S);                             \
  template <>                                          \
  T dot_row(const T* a, const T* b, std::int64_t n) {  \
    return HWY_DYNAMIC_DISPATCH(dot_row_##S)(a, b, n); \
  }
HEED_EXPORT_DOT_ROW(float, f32)
HEED_EXPORT_DOT_ROW(double, f64)
#undef HEED_EXPORT_DOT_ROW

}  // namespace heed::kernels
#endif
