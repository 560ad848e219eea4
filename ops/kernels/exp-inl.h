// e^x for x <= 0, shared by kernels. Compiled anew for every SIMD target, hence no plain include guard.
#if defined(HEED_OPS_KERNELS_EXP_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_EXP_TOGGLE
#undef HEED_OPS_KERNELS_EXP_TOGGLE
#else
#define HEED_OPS_KERNELS_EXP_TOGGLE
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// e^x = 2^n · fraction, with n in the low bits of `shifted`.
template <class D>
struct ExpParts {
  hn::Vec<D> fraction, shifted;
};

// For −2²¹ < x <= 0, f32.
template <class D>
HWY_INLINE ExpParts<D> exp_parts(D d, hn::Vec<D> x) {
  // The sum with 1.5 · 2²³ rounds x / ln 2 to an integer n and leaves it in the low bits.
  const auto magic = hn::Set(d, 12582912.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const auto n = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first so short that its product with n is exact: targets without a
  // fused multiply-add need that.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // Minimax polynomial of (e^r − 1 − r) / r² on |r| <= ln 2 / 2 (Cephes, expf).
  auto p = hn::MulAdd(hn::Set(d, 1.9875691500e-4f), r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  return {hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f))), shifted};
}

// e^x for x <= 0 to 2 ulp, subnormal results and zero included; NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp_below_zero(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const auto low = hn::Set(d, -746.0);  // below, e^x rounds to 0
    const auto y = hn::IfThenElse(hn::Lt(x, low), hn::Zero(d), hn::Exp(d, hn::Max(x, low)));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  } else {
    const hn::RebindToSigned<D> di;
    const auto low = hn::Set(d, -104.0f);  // there e^x rounds to 0
    const ExpParts<D> e = exp_parts(d, hn::IfThenElse(hn::Lt(x, low), low, x));
    // 2^(n + 64) is a normal number for every n >= −150; the product with 2^−64 rounds once.
    const auto bits = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, e.shifted)), hn::Set(di, (127 + 64) << 23));
    return hn::Mul(hn::Mul(e.fraction, hn::BitCast(d, bits)), hn::Set(d, 5.42101086e-20f));
  }
}

// Where exp_share ends: no sum with a term of 1 can feel what is smaller.
template <class T>
constexpr T share_end = sizeof(T) == 8 ? T(-700) : T(-86);

// The same, ending at e^share_end; not for NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp_share(D d, hn::Vec<D> x) {
  const auto within = hn::Max(x, hn::Set(d, share_end<hn::TFromD<D>>));
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Exp(d, within);
  } else {
    const hn::RebindToSigned<D> di;
    const ExpParts<D> e = exp_parts(d, within);
    const auto bits = hn::ShiftLeft<23>(hn::BitCast(di, e.shifted));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, e.fraction), bits));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
