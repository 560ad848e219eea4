#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/clamp.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/piecewise_activation.h>
#include <heed/ops/power.h>
#include <heed/ops/rounding.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/trigonometric.h>
#include <heed/ops/where.h>

#include "rows.h"

namespace heed::test {
namespace {

// What is left of the range at the far ends: log grows so slowly that its limit must be said.
Jet log_jet(Quad x) { return {x >= far_out() ? x : logq(x), 1 / x, -1 / (x * x)}; }
Jet log1p_jet(Quad x) {
  const Quad u = 1 + x;
  return {x >= far_out() ? x : log1pq(x), 1 / u, -1 / (u * u)};
}

Jet reciprocal_jet(Quad x) {
  const Quad y = 1 / x;
  return {y, -y * y, 2 * y * y * y};
}
Jet sqrt_jet(Quad x) {
  const Quad y = sqrtq(x);
  return {y, 1 / (2 * y), -1 / (4 * y * y * y)};
}
Jet rsqrt_jet(Quad x) {
  const Quad y = 1 / sqrtq(x);
  return {y, -y * y * y / 2, 3 * y * y * y * y * y / 4};
}

Jet sine(Quad x) {
  if (fabsq(x) >= far_out()) x -= x * HUGE_VAL;  // no limit
  return {sinq(x), cosq(x), -sinq(x)};
}
Jet cosine(Quad x) {
  const Jet s = sine(x);
  return {s.first, s.second, -s.first};
}
Jet tangent(Quad x) {
  const Jet s = sine(x);
  const Quad t = s.value / s.first;
  const Quad slope = 1 / (s.first * s.first);
  return {t, slope, 2 * t * slope};
}
Jet arcsine(Quad x) {
  const Quad r = 1 / sqrtq((1 - x) * (1 + x));
  return {asinq(x), r, x * r * r * r};
}
Jet arctangent(Quad x) {
  const Quad r = 1 / (1 + x * x);
  return {atanq(x), r, -2 * x * r * r};
}

Jet gelu_by_tanh(Quad x) {
  const Quad a = 2 * sqrtq(2 / quad_pi());
  const Quad b = quad(44715) / 1000000 * a;
  const Jet u{a * x + b * x * x * x, a + 3 * b * x * x, 6 * b * x};
  return variable(x) * chain(sigmoid_jet(u.value), u);
}

// tanh(softplus(x)) = 1 − 2 / (1 + (1 + e^x)²), in e^−|x|.
Jet mish_gate(Quad x) {
  const Quad e = expq(-fabsq(x));
  if (x < 0) {
    const Quad d = e * e + 2 * e + 2;
    return {e * (e + 2) / d, 4 * e * (e + 1) / (d * d),
            4 * e * (2 + 2 * e - 3 * e * e - 2 * e * e * e) / (d * d * d)};
  }
  const Quad d = 1 + 2 * e + 2 * e * e;
  return {(1 + 2 * e) / d, 4 * e * e * (1 + e) / (d * d),
          4 * e * e * (2 * e * e * e + 2 * e * e - 3 * e - 2) / (d * d * d)};
}

// Of functions that are straight on both sides of a point.
Jet straight(Quad value, Quad slope) { return {value, slope, 0}; }

std::vector<UnaryRow> activations() {
  return {
      {"sigmoid", "", [](const Tensor& x) { return sigmoid(x); }, sigmoid_jet, {18, 38.5, 104, 746}},
      {"tanh", "", [](const Tensor& x) { return tanh(x); }, tanh_jet, {10, 20, 52, 373}},
      {"erf", "", [](const Tensor& x) { return erf(x); }, erf_jet, {1, 10.2, 26.6}},
      {"relu", "", [](const Tensor& x) { return relu(x); },
       [](Quad x) { return straight(x < 0 ? quad(0) : x, quad(x <= 0 ? 0 : 1)); }},
      {"silu",
       "",
       [](const Tensor& x) { return silu(x); },
       [](Quad x) { return variable(x) * sigmoid_jet(x); },
       {38.5, 104, 746},
       {{1, -1.278464542761074, [](Quad x) { return sigmoid_jet(x).value; }}}},
      {"gelu",
       "",
       [](const Tensor& x) { return gelu(x); },
       [](Quad x) { return variable(x) * normal_jet(x); },
       {6, 9, 14.6, 15, 38.6},
       {{1, -0.7517916243494656, [](Quad x) { return normal_jet(x).value; }},
        {2, 1.4142135623730951, [](Quad x) { return 2 * normal_jet(x).first; }},
        {2, -1.4142135623730951, [](Quad x) { return 2 * normal_jet(x).first; }}},
       16},
      {"gelu",
       "by tanh",
       [](const Tensor& x) { return gelu(x, Gelu::tanh); },
       gelu_by_tanh,
       {10, 20, 21.5, 40},
       {{1, -0.7524614220710162, [](Quad x) { return gelu_by_tanh(x).value / x; }}}},
      {"elu", "", [](const Tensor& x) { return elu(x, 0.75); },
       [](Quad x) {
         const Quad e = quad(0.75) * expq(x);
         return x > 0 ? variable(x) : Jet{quad(0.75) * expm1q(x), e, e};
       }},
      {"leaky_relu", "", [](const Tensor& x) { return leaky_relu(x, 0.125); },
       [](Quad x) { return straight(x > 0 ? x : x / 8, quad(x > 0 ? 1 : 0.125)); }},
      {"relu6",
       "",
       [](const Tensor& x) { return relu6(x); },
       [](Quad x) {
         return straight(x < 0 ? quad(0) : x > 6 ? quad(6) : x, quad(x > 0 && x < 6 ? 1 : 0));
       },
       {6}},
      {"hardswish",
       "",
       [](const Tensor& x) { return hardswish(x); },
       [](Quad x) {
         if (x < -3) return constant(0);
         if (x > 3) return variable(x);
         return Jet{x * (x + 3) / 6, x / 3 + quad(0.5), quad(1) / 3};
       },
       {3},
       {{1, -1.5, [](Quad) { return quad(0.5); }}}},
      {"softplus", "", [](const Tensor& x) { return softplus(x); }, softplus_jet, {38.5, 104, 746}},
      {"log_sigmoid",
       "",
       [](const Tensor& x) { return log_sigmoid(x); },
       [](Quad x) {
         const Jet y = softplus_jet(-x);
         return Jet{-y.value, y.first, -y.second};
       },
       {38.5, 104, 746}},
      {"mish",
       "",
       [](const Tensor& x) { return mish(x); },
       [](Quad x) { return variable(x) * mish_gate(x); },
       {20, 104, 746},
       {{2, -2.2564367, [](Quad x) { return 2 * mish_gate(x).first; }}}},
      {"softsign", "", [](const Tensor& x) { return softsign(x); },
       [](Quad x) {
         const Quad a = 1 + fabsq(x);
         return Jet{x / a, 1 / (a * a), quad(x > 0 ? -2 : x < 0 ? 2 : 0) / (a * a * a)};
       }},
  };
}

std::vector<UnaryRow> elementary_functions() {
  return {
      {"exp",
       "",
       [](const Tensor& x) { return exp(x); },
       [](Quad x) {
         return Jet{expq(x), expq(x), expq(x)};
       },
       {88.72284, 103.97, 104, 709.78, 745.13}},
      {"expm1",
       "",
       [](const Tensor& x) { return expm1(x); },
       [](Quad x) {
         return Jet{expm1q(x), expq(x), expq(x)};
       },
       {17.5, 37, 88.72284, 709.78}},
      {"log", "", [](const Tensor& x) { return log(x); }, log_jet, {1}},
      {"log1p", "", [](const Tensor& x) { return log1p(x); }, log1p_jet, {1}},
      {"sqrt", "", [](const Tensor& x) { return sqrt(x); }, sqrt_jet},
      {"rsqrt", "", [](const Tensor& x) { return rsqrt(x); }, rsqrt_jet},
      {"square", "", [](const Tensor& x) { return square(x); },
       [](Quad x) {
         return Jet{x * x, 2 * x, 2};
       }},
      {"reciprocal", "", [](const Tensor& x) { return reciprocal(x); }, reciprocal_jet},
      {"sin", "", [](const Tensor& x) { return sin(x); }, sine, {1.5707963, 3.1415926}},
      {"cos", "", [](const Tensor& x) { return cos(x); }, cosine, {1.5707963, 3.1415926}},
      {"tan", "", [](const Tensor& x) { return tan(x); }, tangent, {1.5707963, 3.1415926}},
      {"asin", "", [](const Tensor& x) { return asin(x); }, arcsine, {1}},
      {"atan", "", [](const Tensor& x) { return atan(x); }, arctangent, {1}},
  };
}

UnaryRow power(const char* name, double p) {
  return {"pow",
          name,
          [p](const Tensor& x) { return pow(x, p); },
          [p](Quad x) { return power_jet(x, quad(p)); },
          {1}};
}

// The exponent in the dtype of the operand: 0.1 is not the same number in both.
std::vector<UnaryRow> powers() {
  return {power("2.5", 2.5),      power("-1.5", -1.5),   power("3", 3),
          power("2", 2),          power("1", 1),         power("0", 0),
          power("-1", -1),        power("0.625", 0.625), power("1 + 2^-20", 1 + 0x1p-20),
          power("2^-20", 0x1p-20)};
}

std::vector<UnaryRow> simple_functions() {
  const auto stairs = [](Quad (*f)(Quad)) { return [f](Quad x) { return straight(f(x), 0); }; };
  const auto number = [](const Tensor& x, bool kept) { return full(x.shape(), kept, DType::boolean); };
  return {
      {"neg", "", [](const Tensor& x) { return neg(x); }, [](Quad x) { return straight(-x, -1); }},
      {"abs", "", [](const Tensor& x) { return abs(x); },
       [](Quad x) {
         return straight(fabsq(x), x > 0 ? quad(1) : x < 0 ? quad(-1) : x);
       }},
      {"sign", "", [](const Tensor& x) { return sign(x); },
       [](Quad x) {
         return straight(x > 0 ? quad(1) : x < 0 ? quad(-1) : x, 0);
       }},
      {"floor", "", [](const Tensor& x) { return floor(x); }, stairs(floorq), {1, 2, 8388608}},
      {"ceil", "", [](const Tensor& x) { return ceil(x); }, stairs(ceilq), {1, 2, 8388608}},
      {"round", "", [](const Tensor& x) { return round(x); }, stairs(nearbyintq), {0.5, 1.5, 2.5, 4194304.5}},
      {"clamp",
       "",
       [](const Tensor& x) { return clamp(x, -2.0, 3.0); },
       [](Quad x) {
         return straight(x < -2 ? quad(-2) : x > 3 ? quad(3) : x, quad(x >= -2 && x <= 3 ? 1 : 0));
       },
       {2, 3}},
      {"cast", "through f32",
       [](const Tensor& x) {
         return cast(cast(x, x.dtype() == DType::f32 ? DType::f64 : DType::f32), x.dtype());
       },
       [](Quad x) { return straight(static_cast<Quad>(static_cast<float>(x)), 1); }},
      {"contiguous", "", [](const Tensor& x) { return contiguous(x); }, variable},
      {"clone", "", [](const Tensor& x) { return clone(x); }, variable},
      {"dropout", "nothing dropped",
       [](const Tensor& x) {
         Generator generator(1);
         return dropout(x, 0, generator);
       },
       variable},
      {"dropout_with_keep", "kept",
       [=](const Tensor& x) { return dropout_with_keep(x, number(x, true), 0.75); },
       [](Quad x) { return straight(4 * x, 4); }},
      {"dropout_with_keep", "dropped",
       [=](const Tensor& x) { return dropout_with_keep(x, number(x, false), 0.75); },
       [](Quad) { return constant(0); }},
      {"masked_fill", "", [=](const Tensor& x) { return masked_fill(x, number(x, false), 5); }, variable},
      {"masked_fill", "filled", [=](const Tensor& x) { return masked_fill(x, number(x, true), 5); },
       [](Quad) { return constant(5); }},
  };
}

}  // namespace

const std::vector<UnaryRow>& unary_rows() {
  static const std::vector<UnaryRow> all = [] {
    std::vector<UnaryRow> rows;
    for (const auto& part : {activations(), elementary_functions(), powers(), simple_functions()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

}  // namespace heed::test
