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
HWY_INLINE V at_most(V x, float high) {  // NaN stays NaN
  return hn::IfThenElse(hn::Gt(x, number(high)), number(high), x);
}

// e^x of any x; the library's own ends in garbage outside of its range.
HWY_INLINE V exponential(V x) {
  const D d;
  const V low = number(-104.0f);  // e^x rounds to 0 below
  const V high = number(88.72284f);
  V y = hn::Exp(d, hn::Min(hn::Max(x, low), high));
  y = hn::IfThenElse(hn::Lt(x, low), hn::Zero(d), y);
  return keep_nan(x, hn::IfThenElse(hn::Gt(x, high), number(HUGE_VALF), y));
}

template <std::size_t n>
HWY_INLINE V polynomial(V x, const float (&coefficients)[n]) {  // the highest power first
  V p = number(coefficients[0]);
  for (std::size_t k = 1; k < n; ++k) p = hn::MulAdd(p, x, number(coefficients[k]));
  return p;
}

// Φ(−x) = e^(−x²/2) r for x >= 0, Φ the normal distribution function. With q = (x − 4)/(x + 4), r (x + 4) is
// a polynomial in q: a Chebyshev fit on 0 <= x <= 14.6 with a relative error of 1.3e-8; beyond, Φ(−x) rounds
// to 0. The rounding of x² is put back, since the exponential would magnify it.
struct Tail {
  V density;  // e^(−x²/2)
  V r;
};
HWY_INLINE Tail normal_tail(V x) {
  x = at_most(x, 15.0f);
  const V inverse = hn::Div(number(1.0f), hn::Add(x, number(4.0f)));
  const V q = hn::Mul(hn::Sub(x, number(4.0f)), inverse);
  const V p = polynomial(q, {-1.2351535e-4f, 1.9359107e-4f, 1.5687848e-3f, -3.5230519e-3f, -7.5268332e-3f,
                             6.0406418e-2f, -1.8652307e-1f, 3.8713668e-1f, -6.0789660e-1f, 7.5528514e-1f});
  const V square = hn::Mul(x, x);
  const V half_lost = hn::Mul(number(0.5f), hn::MulSub(x, x, square));
  const V e = exp_below_zero(D(), hn::Mul(number(-0.5f), square));
  return {hn::NegMulAdd(half_lost, e, e), hn::Mul(p, inverse)};
}

HWY_INLINE V erf(V x) {
  const V z = hn::Abs(x);
  // erf(x)/x as a polynomial in x² up to 1: a Chebyshev fit with a relative error of 4e-11.
  const V p = polynomial(hn::Mul(x, x), {-9.6670458e-6f, 1.1265959e-4f, -8.4840804e-4f, 5.2210318e-3f,
                                         -2.6865431e-2f, 1.1283783e-1f, -3.7612638e-1f, 1.1283792f});
  const Tail t = normal_tail(hn::Mul(z, number(1.4142136f)));
  const V far = hn::NegMulAdd(hn::Add(t.r, t.r), t.density, number(1.0f));  // 1 − 2 Φ(−√2 z)
  return hn::IfThenElse(hn::Lt(z, number(1.0f)), hn::Mul(x, p), hn::CopySign(far, x));
}

// `below` for x < 0, else 1 − below: of functions f with f(x) + f(−x) = 1, without cancellation for x < 0.
HWY_INLINE V reflect(V x, V below) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), below, hn::Sub(number(1.0f), below));
}

HWY_INLINE V normal_cdf(V x) {
  const Tail t = normal_tail(hn::Abs(x));
  return reflect(x, hn::Mul(t.density, t.r));
}

HWY_INLINE V gelu_slope(V x) {  // Φ + x φ
  const V z = at_most(hn::Abs(x), 15.0f);
  const Tail t = normal_tail(z);
  return reflect(x, hn::Mul(t.density, hn::NegMulAdd(number(0.39894228f), z, t.r)));
}

// s = sigmoid(z) from e = e^−|z|, and s (1 − s): digits are kept on both sides. `x` has the sign of z.
struct Gate {
  V s, slope;
};
HWY_INLINE Gate gate(V x, V e) {
  const V inverse = hn::Div(number(1.0f), hn::Add(number(1.0f), e));
  const V small = hn::Mul(e, inverse);
  const V s = hn::IfThenElse(hn::Lt(x, hn::Zero(D())), small, inverse);
  return {s, hn::Mul(small, inverse)};
}
HWY_INLINE Gate sigmoid_gate(V x) { return gate(x, exp_below_zero(D(), hn::Neg(hn::Abs(x)))); }

HWY_INLINE V silu_slope(V x) {  // s + x s (1 − s); the second term is 0 far out, also at ±∞
  const Gate g = sigmoid_gate(x);
  const V bounded = hn::Min(hn::Max(x, number(-104.0f)), number(104.0f));
  return hn::MulAdd(bounded, g.slope, g.s);
}

// ½ (1 + tanh u) = sigmoid(2u), 2u = x w, w = a + b x², a = √(8/π), b = 0.044715 a, on |x| <= 20, beyond
// which it is 0 or 1. a and b are split in two floats and the roundings of x², w and x w are put back, since
// the exponential would magnify them.
HWY_INLINE Gate gelu_tanh_gate(V x) {
  const V z = at_most(hn::Abs(x), 20.0f);
  const V a = number(1.595703125f), a_low = number(6.59966057e-05f);
  const V b = number(7.135481387e-02f), b_low = number(2.3988324e-09f);
  const V square = hn::Mul(z, z);
  const V square_lost = hn::MulSub(z, z, square);
  const V w = hn::MulAdd(b, square, a);
  const V w_lost = hn::Add(hn::MulAdd(b, square, hn::Sub(a, w)),
                           hn::MulAdd(b, square_lost, hn::MulAdd(b_low, square, a_low)));
  const V high = hn::Mul(z, w);
  const V low = hn::MulAdd(z, w_lost, hn::MulSub(z, w, high));
  const V e = exp_below_zero(D(), hn::Neg(high));
  return gate(x, hn::NegMulAdd(low, e, e));
}

HWY_INLINE V gelu_tanh_slope(V x) {  // s + x s (1 − s) (2u)', (2u)' = a + 3 b x²
  const Gate g = gelu_tanh_gate(x);
  const V bounded = hn::Min(hn::Max(x, number(-20.0f)), number(20.0f));
  const V inner = hn::MulAdd(number(0.21406445f), hn::Mul(bounded, bounded), number(1.5957691f));
  return hn::MulAdd(hn::Mul(bounded, g.slope), inner, g.s);
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
      return each(x, y, n, [](V v) { return sigmoid_gate(v).s; });
    case Map::silu:
      return each(x, y, n, [](V v) { return hn::Mul(v, sigmoid_gate(v).s); });
    case Map::gelu:
      return each(x, y, n, [](V v) { return hn::Mul(v, normal_cdf(v)); });
    case Map::gelu_tanh:
      return each(x, y, n, [](V v) { return hn::Mul(v, gelu_tanh_gate(v).s); });
  }
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
      return each2(a, b, y, n, [](V x, V g) { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(D())), g); });
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
