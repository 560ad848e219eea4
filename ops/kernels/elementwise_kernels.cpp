#include <cmath>

#include <heed/ops/kernels/elementwise_kernels.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/elementwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V number(float x) { return hn::Set(D(), x); }
HWY_INLINE V keep_nan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

// e^x; the library's own ends in garbage outside of its range.
HWY_INLINE V exponential(V x) {
  const D d;
  const V low = number(-104.0f);  // e^x rounds to 0 below
  const V high = number(88.72284f);
  V y = hn::Exp(d, hn::Min(hn::Max(x, low), high));
  y = hn::IfThenElse(hn::Lt(x, low), hn::Zero(d), y);
  return keep_nan(x, hn::IfThenElse(hn::Gt(x, high), number(HUGE_VALF), y));
}

// erfc(z) for z >= 0, relative error below 1.2e-7 before rounding: the Chebyshev fit of Press et al., Numerical Recipes,
// section 6.2. The rounding of z² is put back, since the exponential would magnify it.
HWY_INLINE V erfc_positive(V z) {
  const V t = hn::Div(number(1.0f), hn::MulAdd(number(0.5f), z, number(1.0f)));
  V p = number(0.17087277f);
  for (const float c : {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f, 0.09678418f,
                        0.37409196f, 1.00002368f, -1.26551223f}) {
    p = hn::MulAdd(p, t, number(c));
  }
  const V square = hn::Mul(z, z);
  const V lost = hn::MulSub(z, z, square);
  return hn::Mul(hn::Mul(t, exponential(hn::Neg(square))), exponential(hn::Sub(p, lost)));
}

HWY_INLINE V erf(V x) {
  const V z = hn::Abs(x);
  const V s = hn::Mul(x, x);
  // 2/√π Σ (−1)^k x^(2k+1) / (k! (2k+1)) up to k = 6: enough below 1/2.
  V p = number(1.2055333e-4f);
  for (const float c :
       {-8.5483270e-4f, 5.2239776e-3f, -2.6866171e-2f, 1.1283792e-1f, -3.7612639e-1f, 1.1283792f}) {
    p = hn::MulAdd(p, s, number(c));
  }
  const V tail = hn::CopySign(hn::Sub(number(1.0f), erfc_positive(z)), x);
  return keep_nan(x, hn::IfThenElse(hn::Lt(z, number(0.5f)), hn::Mul(x, p), tail));
}

// Normal distribution function, without cancellation for negative x.
HWY_INLINE V normal_cdf(V x) {
  const V half = hn::Mul(number(0.5f), erfc_positive(hn::Mul(hn::Abs(x), number(0.70710678f))));
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, hn::Zero(D())), half, hn::Sub(number(1.0f), half)));
}

HWY_INLINE V normal_pdf(V x) {
  return hn::Mul(number(0.39894228f), exponential(hn::Mul(number(-0.5f), hn::Mul(x, x))));
}

HWY_INLINE V sigmoid(V x) { return hn::Div(number(1.0f), hn::Add(number(1.0f), exponential(hn::Neg(x)))); }

// ½ (1 + tanh u) = sigmoid(2u), which keeps its digits for negative u.
HWY_INLINE V gelu_tanh_argument(V x) {  // 2u, u = √(2/π) (x + 0.044715 x³)
  const V cube = hn::Mul(hn::Mul(x, x), x);
  return hn::Mul(number(1.5957691f), hn::MulAdd(number(0.044715f), cube, x));
}

HWY_INLINE V tanh(V x) { return keep_nan(x, hn::Tanh(D(), x)); }

HWY_INLINE V relu(V x) { return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Zero(D()), x); }

template <class F>
HWY_INLINE void each(const float* x, float* y, std::int64_t n, F&& f) {
  const D d;
  for_lanes(d, n,
            [&](std::int64_t i, std::size_t count) { store(f(load(d, x + i, count)), d, y + i, count); });
}

template <class F>
HWY_INLINE void each2(const float* a, const float* b, float* y, std::int64_t n, F&& f) {
  const D d;
  for_lanes(d, n, [&](std::int64_t i, std::size_t count) {
    store(f(load(d, a + i, count), load(d, b + i, count)), d, y + i, count);
  });
}

void map_loop(Map f, const float* x, float* y, std::int64_t n) {
  switch (f) {
    case Map::exp:
      return each(x, y, n, [](V v) { return exponential(v); });
    case Map::tanh:
      return each(x, y, n, [](V v) { return tanh(v); });
    case Map::erf:
      return each(x, y, n, [](V v) { return erf(v); });
    case Map::relu:
      return each(x, y, n, [](V v) { return relu(v); });
    case Map::sigmoid:
      return each(x, y, n, [](V v) { return sigmoid(v); });
    case Map::silu:
      return each(x, y, n, [](V v) { return hn::Mul(v, sigmoid(v)); });
    case Map::gelu:
      return each(x, y, n, [](V v) { return hn::Mul(v, normal_cdf(v)); });
    case Map::gelu_tanh:
      return each(x, y, n, [](V v) { return hn::Mul(v, sigmoid(gelu_tanh_argument(v))); });
  }
}

HWY_INLINE V gelu_slope(V x) { return hn::MulAdd(x, normal_pdf(x), normal_cdf(x)); }

HWY_INLINE V gelu_tanh_slope(V x) {  // s + x s (1 − s) (2u)'
  const V s = sigmoid(gelu_tanh_argument(x));
  const V inner = hn::Mul(number(1.5957691f), hn::MulAdd(number(0.134145f), hn::Mul(x, x), number(1.0f)));
  return hn::MulAdd(hn::Mul(hn::Mul(x, s), hn::Sub(number(1.0f), s)), inner, s);
}

HWY_INLINE V silu_slope(V x) {
  const V s = sigmoid(x);
  return hn::Mul(s, hn::MulAdd(x, hn::Sub(number(1.0f), s), number(1.0f)));
}

void map2_loop(Map2 f, const float* a, const float* b, float* y, std::int64_t n) {
  const V one = number(1.0f);
  switch (f) {
    case Map2::add:
      return each2(a, b, y, n, [](V u, V v) { return hn::Add(u, v); });
    case Map2::sub:
      return each2(a, b, y, n, [](V u, V v) { return hn::Sub(u, v); });
    case Map2::mul:
      return each2(a, b, y, n, [](V u, V v) { return hn::Mul(u, v); });
    case Map2::div:
      return each2(a, b, y, n, [](V u, V v) { return hn::Div(u, v); });
    case Map2::tanh_vjp:
      return each2(a, b, y, n, [&](V t, V g) { return hn::Mul(g, hn::NegMulAdd(t, t, one)); });
    case Map2::relu_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::IfThenElseZero(hn::Gt(x, hn::Zero(D())), g); });
    case Map2::sigmoid_vjp:
      return each2(a, b, y, n, [&](V s, V g) { return hn::Mul(g, hn::Mul(s, hn::Sub(one, s))); });
    case Map2::silu_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::Mul(g, silu_slope(x)); });
    case Map2::gelu_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::Mul(g, gelu_slope(x)); });
    case Map2::gelu_tanh_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::Mul(g, gelu_tanh_slope(x)); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(map_loop);
HWY_EXPORT(map2_loop);

void map(Map f, const float* x, float* y, std::int64_t n) { HWY_DYNAMIC_DISPATCH(map_loop)(f, x, y, n); }

void map2(Map2 f, const float* a, const float* b, float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(map2_loop)(f, a, b, y, n);
}

}  // namespace heed::kernels
#endif
