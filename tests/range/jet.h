#pragma once

#include "../support/quad.h"

namespace heed::test {

/// A function of one variable at a point, with its first two derivatives.
struct Jet {
  Quad value = 0, first = 0, second = 0;
};

inline Jet variable(Quad x) { return {x, 1, 0}; }
inline Jet constant(Quad c) { return {c, 0, 0}; }
inline Jet operator+(const Jet& a, const Jet& b) {
  return {a.value + b.value, a.first + b.first, a.second + b.second};
}
inline Jet operator-(const Jet& a, const Jet& b) {
  return {a.value - b.value, a.first - b.first, a.second - b.second};
}
inline Jet operator*(const Jet& a, const Jet& b) {
  return {a.value * b.value, a.first * b.value + a.value * b.first,
          a.second * b.value + 2 * a.first * b.first + a.value * b.second};
}
inline Jet operator*(Quad c, const Jet& a) { return {c * a.value, c * a.first, c * a.second}; }

/// f(u) by the chain rule, f given by its value and derivatives at u.value.
inline Jet chain(const Jet& f, const Jet& u) {
  return {f.value, f.first * u.first, f.second * u.first * u.first + f.first * u.second};
}

/// Where references are asked for the limits at ±∞: so far out that nothing below a sixth power overflows,
/// that the square root does, and that e^−x is 0.
inline Quad far_out() { return powq(quad(10), quad(800)); }

/// Functions that keep their digits in both tails.
inline Jet sigmoid_jet(Quad x) {
  const Quad e = expq(-fabsq(x));
  const Quad slope = e / ((1 + e) * (1 + e));
  return {(x < 0 ? e : quad(1)) / (1 + e), slope, -slope * tanhq(x / 2)};
}
inline Jet tanh_jet(Quad x) {
  const Quad slope = 4 * sigmoid_jet(2 * x).first;
  const Quad y = tanhq(x);
  return {y, slope, -2 * y * slope};
}
inline Jet softplus_jet(Quad x) {
  const Jet s = sigmoid_jet(x);
  return {log1pq(expq(-fabsq(x))) + (x < 0 ? quad(0) : x), s.value, s.first};
}
inline Jet erf_jet(Quad x) {
  const Quad slope = 2 / sqrtq(quad_pi()) * expq(-x * x);
  return {erfq(x), slope, -2 * x * slope};
}
/// The normal distribution function.
inline Jet normal_jet(Quad x) {
  const Quad density = expq(-x * x / 2) / sqrtq(2 * quad_pi());
  return {erfcq(-x / sqrtq(quad(2))) / 2, density, -x * density};
}
inline Jet power_jet(Quad x, Quad p) {
  if (fabsq(x) >= far_out()) x = copysignq(quad(HUGE_VAL), x);  // a small power is not far out there
  const auto term = [&](Quad factor, Quad exponent) {
    return factor == 0 ? quad(0) : factor * powq(x, exponent);
  };
  return {powq(x, p), term(p, p - 1), term(p * (p - 1), p - 2)};
}

}  // namespace heed::test
