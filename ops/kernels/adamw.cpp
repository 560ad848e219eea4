#include <heed/ops/kernels/adamw.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/adamw.cpp"
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
HWY_INLINE void adamw(const AdamWNumbers<T>& c, std::int64_t n, T* parameter, T* first, T* second,
                      const T* gradient) {
  const hn::ScalableTag<T> d;
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    const auto g = load(d, gradient + i, count);
    const auto m =
        hn::MulAdd(hn::Set(d, c.beta1), load(d, first + i, count), hn::Mul(hn::Set(d, c.rest1), g));
    const auto v = hn::MulAdd(hn::Set(d, c.beta2), load(d, second + i, count),
                              hn::Mul(hn::Mul(hn::Set(d, c.rest2), g), g));
    store(m, d, first + i, count);
    store(v, d, second + i, count);
    const auto spread = hn::MulAdd(hn::Sqrt(v), hn::Set(d, c.inverse_correction), hn::Set(d, c.epsilon));
    const auto step = hn::Div(hn::Mul(hn::Set(d, c.rate), m), spread);
    store(hn::MulSub(hn::Set(d, c.keep), load(d, parameter + i, count), step), d, parameter + i, count);
  });
}

void adamw_f32(const AdamWNumbers<float>& c, std::int64_t n, float* parameter, float* first, float* second,
               const float* gradient) {
  adamw(c, n, parameter, first, second, gradient);
}

void adamw_f64(const AdamWNumbers<double>& c, std::int64_t n, double* parameter, double* first,
               double* second, const double* gradient) {
  adamw(c, n, parameter, first, second, gradient);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(adamw_f32);
HWY_EXPORT(adamw_f64);

template <>
void adamw_update(const AdamWNumbers<float>& numbers, std::int64_t n, float* parameter, float* first,
                  float* second, const float* gradient) {
  HWY_DYNAMIC_DISPATCH(adamw_f32)(numbers, n, parameter, first, second, gradient);
}

template <>
void adamw_update(const AdamWNumbers<double>& numbers, std::int64_t n, double* parameter, double* first,
                  double* second, const double* gradient) {
  HWY_DYNAMIC_DISPATCH(adamw_f64)(numbers, n, parameter, first, second, gradient);
}

}  // namespace heed::kernels
#endif
