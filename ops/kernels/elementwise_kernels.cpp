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

// e^x for any x. Highway's own Exp gives meaningless numbers outside of its range.
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

// The rounding of a product, exactly: product + lost(a, b, product) is a b. |a|, |b| < 2^100.
HWY_INLINE V lost(V a, V b, V product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  const auto upper_half = [](V v) {  // the first 12 bits (Veltkamp)
    const V c = hn::Mul(v, number(4097.0f));
    return hn::Sub(c, hn::Sub(c, v));
  };
  const V p = upper_half(a), q = upper_half(b);
  const V p_low = hn::Sub(a, p), q_low = hn::Sub(b, q);
  const V first = hn::Sub(hn::Mul(p, q), product);
  return hn::MulAdd(p_low, q_low, hn::MulAdd(p_low, q, hn::MulAdd(p, q_low, first)));
#endif
}

// 2^64 e^x for −113 <= x <= 0: normal where e^x is not, so that a product with it
// loses no digits before `lowered`.
HWY_INLINE V lifted_exp(V x) {
  const hn::RebindToSigned<D> di;
  const auto e = exp_parts(D(), x);
  const auto bits = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, e.shifted)), hn::Set(di, (127 + 64) << 23));
  return hn::Mul(e.fraction, hn::BitCast(D(), bits));
}
HWY_INLINE V lowered(V x) { return hn::Mul(x, number(5.42101086e-20f)); }

// Φ(−x) = e^(−x²/2) r for x >= 0, Φ the normal distribution function. With q = (x − 4)/(x + 4), r (x + 4)
// is a polynomial in q: a Chebyshev fit on 0 <= x <= 14.6 with a relative error of 1.3e-8; beyond, x Φ(−x)
// rounds to 0. The rounding of x² is put back, since the exponential would magnify it.
struct Tail {
  V lifted;  // 2^64 e^(−x²/2)
  V r;
};
HWY_INLINE Tail normal_tail(V x) {
  x = at_most(x, 15.0f);
  const V inverse = hn::Div(number(1.0f), hn::Add(x, number(4.0f)));
  const V q = hn::Mul(hn::Sub(x, number(4.0f)), inverse);
  const V p = polynomial(q, {-1.2351535e-4f, 1.9359107e-4f, 1.5687848e-3f, -3.5230519e-3f, -7.5268332e-3f,
                             6.0406418e-2f, -1.8652307e-1f, 3.8713668e-1f, -6.0789660e-1f, 7.5528514e-1f});
  const V square = hn::Mul(x, x);
  const V half_lost = hn::Mul(number(0.5f), lost(x, x, square));
  const V e = lifted_exp(hn::Mul(number(-0.5f), square));
  return {hn::NegMulAdd(half_lost, e, e), hn::Mul(p, inverse)};
}

HWY_INLINE V erf(V x) {
  const V z = hn::Abs(x);
  // erf(x)/x as a polynomial in x² up to 1: a Chebyshev fit with a relative error of 4e-11.
  const V p = polynomial(hn::Mul(x, x), {-9.6670458e-6f, 1.1265959e-4f, -8.4840804e-4f, 5.2210318e-3f,
                                         -2.6865431e-2f, 1.1283783e-1f, -3.7612638e-1f, 1.1283792f});
  const Tail t = normal_tail(hn::Mul(z, number(1.4142136f)));
  const V far = hn::NegMulAdd(hn::Add(t.r, t.r), lowered(t.lifted), number(1.0f));  // 1 − 2 Φ(−√2 z)
  return hn::IfThenElse(hn::Lt(z, number(1.0f)), hn::Mul(x, p), hn::CopySign(far, x));
}

// `below` for x < 0, else 1 − below: of functions f with f(x) + f(−x) = 1, without cancellation for x < 0.
HWY_INLINE V reflect(V x, V below) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), below, hn::Sub(number(1.0f), below));
}

HWY_INLINE V gelu(V x) {  // x Φ(x), which is 0 from −15 on
  const V z = at_most(hn::Abs(x), 15.0f);
  const Tail t = normal_tail(z);
  const V below = lowered(hn::Mul(t.lifted, hn::Mul(t.r, hn::Neg(z))));
  const V above = hn::Mul(x, hn::NegMulAdd(lowered(t.lifted), t.r, number(1.0f)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), below, above);
}

// Φ + x φ. Near its zero at −0.75 the two terms cancel: up to 1.25 the slope is ½ + √(2/π) x + x³ Q(x²), Q by
// Taylor, where the first two cancel without an error.
HWY_INLINE V gelu_slope(V x) {
  const V z = at_most(hn::Abs(x), 15.0f);
  const Tail t = normal_tail(z);
  const V far = lowered(hn::Mul(t.lifted, hn::NegMulAdd(number(0.39894228f), z, t.r)));
  const V square = hn::Mul(z, z);
  const V q =
      polynomial(square, {1.1247357e-10f, -2.2602343e-9f, 4.0923537e-8f, -6.5962679e-7f, 9.3235709e-6f,
                          -1.1333588e-4f, 1.1543469e-3f, -9.4986257e-3f, 5.9841342e-2f, -2.6596152e-1f});
  const V lead = hn::NegMulAdd(number(0.79788458f), z, number(0.5f));
  const V near = hn::Sub(lead, hn::Mul(z, hn::MulAdd(square, q, number(-2.2670340e-8f))));
  return reflect(x, hn::IfThenElse(hn::Lt(z, number(1.25f)), near, far));
}

// Of s = sigmoid(−z), z >= 0, from 2^64 e^−z.
struct Gate {
  V lifted, e, inverse;  // 2^64 e, e = e^−z, 1 / (1 + e)
};
HWY_INLINE Gate gate(V lifted) {
  const V e = lowered(lifted);
  return {lifted, e, hn::Div(number(1.0f), hn::Add(number(1.0f), e))};
}
HWY_INLINE Gate sigmoid_gate(V x) { return gate(lifted_exp(hn::Neg(at_most(hn::Abs(x), 111.0f)))); }

HWY_INLINE V sigmoid(V x) {
  const Gate g = sigmoid_gate(x);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), lowered(hn::Mul(g.lifted, g.inverse)), g.inverse);
}

HWY_INLINE V sigmoid_slope(V x) {  // e / (1 + e)²
  const Gate g = sigmoid_gate(x);
  return lowered(hn::Mul(g.lifted, hn::Mul(g.inverse, g.inverse)));
}

HWY_INLINE V tanh_slope(V x) { return hn::Mul(number(4.0f), sigmoid_slope(hn::Add(x, x))); }

// x s for a gate that is 0 or 1 beyond `end`, where x s is 0 or x.
HWY_INLINE V gated(V x, const Gate& g, float end) {
  const V z = at_most(hn::Abs(x), end);
  const V below = lowered(hn::Mul(hn::Mul(g.lifted, g.inverse), hn::Neg(z)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), below, hn::Mul(x, g.inverse));
}

// (x s)' for s = sigmoid(v): at −z it is e / (1 + e)² (1 + e − z v'). `lead` is 1 − z v' but for its
// `rest`; the sum cancels near the zero of the slope, so it is formed from its largest terms on.
HWY_INLINE V gated_slope(V x, const Gate& g, V lead, V rest) {
  const V sum = hn::Add(lead, hn::Add(g.e, rest));
  return reflect(x, lowered(hn::Mul(g.lifted, hn::Mul(sum, hn::Mul(g.inverse, g.inverse)))));
}

HWY_INLINE V silu(V x) { return gated(x, sigmoid_gate(x), 111.0f); }

HWY_INLINE V silu_slope(V x) {
  const V z = at_most(hn::Abs(x), 111.0f);
  return gated_slope(x, sigmoid_gate(x), hn::Sub(number(1.0f), z), hn::Zero(D()));
}

// ½ (1 + tanh u) = sigmoid(2u), 2u = x w, w = a + b x², a = √(8/π), b = 0.044715 a, on |x| <= 11, beyond
// which x times it is 0 or x. a and b are split in two floats and the roundings of x², w and x w are put
// back, since the exponential would magnify them.
HWY_INLINE Gate gelu_tanh_gate(V x) {
  const V z = at_most(hn::Abs(x), 11.0f);
  const V a = number(1.595703125f), a_low = number(6.59966057e-05f);
  const V b = number(7.135481387e-02f), b_low = number(2.3988324e-09f);
  const V square = hn::Mul(z, z);
  const V square_lost = lost(z, z, square);
  const V term = hn::Mul(b, square);
  const V w = hn::Add(a, term);
  const V w_lost = hn::Add(hn::Add(term, hn::Sub(a, w)), lost(b, square, term));
  const V w_low = hn::Add(w_lost, hn::MulAdd(b, square_lost, hn::MulAdd(b_low, square, a_low)));
  const V high = hn::Mul(z, w);
  const V low = hn::MulAdd(z, w_low, lost(z, w, high));
  const V e = lifted_exp(hn::Neg(high));
  return gate(hn::NegMulAdd(low, e, e));
}

HWY_INLINE V gelu_tanh(V x) { return gated(x, gelu_tanh_gate(x), 11.0f); }

HWY_INLINE V gelu_tanh_slope(V x) {  // v' = a + 3 b x²
  const V z = at_most(hn::Abs(x), 11.0f);
  const V lead = hn::NegMulAdd(number(1.595703125f), z, number(1.0f));
  const V inner = hn::MulAdd(number(0.21406445f), hn::Mul(z, z), number(6.59966057e-05f));
  return gated_slope(x, gelu_tanh_gate(x), lead, hn::Neg(hn::Mul(z, inner)));
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
      return each(x, y, n, [](V v) { return silu(v); });
    case Map::gelu:
      return each(x, y, n, [](V v) { return gelu(v); });
    case Map::gelu_tanh:
      return each(x, y, n, [](V v) { return gelu_tanh(v); });
  }
}

void map2_loop(Map2 f, const float* a, const float* b, float* y, std::int64_t n) {
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
      return each2(a, b, y, n, [](V x, V g) { return hn::Mul(g, tanh_slope(x)); });
    case Map2::relu_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(D())), g); });
    case Map2::sigmoid_vjp:
      return each2(a, b, y, n, [](V x, V g) { return hn::Mul(g, sigmoid_slope(x)); });
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
