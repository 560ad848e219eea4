#include <heed/ops/kernels/adam.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/adam.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool decays, bool keeps_greatest, class T>
HWY_INLINE void adam_rule(const AdamNumbers<T>& c, const AdamElements<T>& x, std::int64_t begin,
                          std::int64_t end) {
  const hn::ScalableTag<T> d;
  for_lanes(d, end - begin, [&](std::int64_t i, std::size_t count) {
    const std::int64_t at = begin + i;
    auto g = load(d, x.gradient + at, count);
    if constexpr (decays) g = hn::MulAdd(hn::Set(d, c.decay), load(d, x.parameter + at, count), g);
    const auto m =
        hn::MulAdd(hn::Set(d, c.beta1), load(d, x.first + at, count), hn::Mul(hn::Set(d, c.rest1), g));
    const auto v = hn::MulAdd(hn::Set(d, c.beta2), load(d, x.second + at, count),
                              hn::Mul(hn::Mul(hn::Set(d, c.rest2), g), g));
    store(m, d, x.first + at, count);
    store(v, d, x.second + at, count);
    auto spread = v;
    if constexpr (keeps_greatest) {
      const auto greatest = load(d, x.greatest + at, count);
      spread = hn::IfThenElse(hn::Lt(greatest, v), v, greatest);  // as std::max has it, NaN included
      store(spread, d, x.greatest + at, count);
    }
    const auto divisor =
        hn::MulAdd(hn::Sqrt(spread), hn::Set(d, c.inverse_correction), hn::Set(d, c.epsilon));
    const auto step = hn::Div(hn::Mul(hn::Set(d, c.rate), m), divisor);
    store(hn::MulSub(hn::Set(d, c.keep), load(d, x.parameter + at, count), step), d, x.parameter + at, count);
  });
}

template <class T>
HWY_INLINE void adam_of(const AdamNumbers<T>& c, const AdamElements<T>& x, std::int64_t begin,
                        std::int64_t end) {
  if (c.decay == 0) {
    if (x.greatest == nullptr) return adam_rule<false, false>(c, x, begin, end);
    return adam_rule<false, true>(c, x, begin, end);
  }
  if (x.greatest == nullptr) return adam_rule<true, false>(c, x, begin, end);
  adam_rule<true, true>(c, x, begin, end);
}

void adam_f32(const AdamNumbers<float>& c, const AdamElements<float>& x, std::int64_t begin,
              std::int64_t end) {
  adam_of(c, x, begin, end);
}

void adam_f64(const AdamNumbers<double>& c, const AdamElements<double>& x, std::int64_t begin,
              std::int64_t end) {
  adam_of(c, x, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(adam_f32);
HWY_EXPORT(adam_f64);

template <>
void adam_update(const AdamNumbers<float>& numbers, const AdamElements<float>& elements, std::int64_t begin,
                 std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(adam_f32)(numbers, elements, begin, end);
}

template <>
void adam_update(const AdamNumbers<double>& numbers, const AdamElements<double>& elements, std::int64_t begin,
                 std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(adam_f64)(numbers, elements, begin, end);
}

}  // namespace heed::kernels
#endif
