#pragma once

// What results are held to over the whole range of a dtype: functions in 113 bits, errors in units
// in the last place, and the numbers that a range is walked by. __float128 and libquadmath come with
// g++ alone; see tests/CMakeLists.txt.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include <quadmath.h>

namespace heed::test {

__extension__ typedef __float128 Quad;  // its exponents reach from −16494 to 16383

inline Quad quad(double x) { return static_cast<Quad>(x); }
inline Quad quad_pi() { return acosq(quad(-1)); }

/// Distance of neighbouring numbers of T at |x|: below the normal numbers that of the subnormal ones,
/// beyond the largest number that below it.
template <class T>
Quad spacing_at(Quad x) {
  using Limits = std::numeric_limits<T>;
  int exponent = x == 0 ? Limits::min_exponent : Limits::max_exponent;
  if (x != 0 && finiteq(x)) frexpq(x, &exponent);
  return ldexpq(quad(1), std::clamp(exponent, Limits::min_exponent, Limits::max_exponent) - Limits::digits);
}

/// Error of `got` in units in the last place of T at `wanted`, or at `largest_term` where that is larger.
/// A NaN or an infinity that is missed is an infinite error. Numbers of T end at 2^max_exponent: a result
/// that overflowed counts as that number, and so does a larger finite `wanted`.
template <class T>
double ulps_off(T got, Quad wanted, Quad largest_term = 0) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || isnanq(wanted)) return std::isnan(got) && isnanq(wanted) ? 0 : never;
  const Quad g = static_cast<Quad>(got);
  if (isinfq(wanted)) return g == wanted ? 0 : never;
  const Quad end = ldexpq(quad(1), std::numeric_limits<T>::max_exponent);
  const auto within = [&](Quad x) { return x > end ? end : x < -end ? -end : x; };
  const Quad unit = spacing_at<T>(std::max(fabsq(wanted), fabsq(largest_term)));
  return static_cast<double>(fabsq(within(g) - within(wanted)) / unit);
}

/// A walk through the whole range of T: ±0, NaN, ±∞, the largest numbers, every power of two from
/// the least subnormal number on, with `between` further points up to the next, and both
/// neighbours of ±s for each switch s.
template <class T>
std::vector<T> whole_range(int between = 2, const std::vector<double>& switches = {}) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> above = {T(0),
                          Limits::infinity(),
                          Limits::max(),
                          std::nextafter(Limits::max(), T(0)),
                          3 * Limits::denorm_min(),
                          std::nextafter(Limits::min(), T(0))};
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e) {
    for (int k = 0; k <= between; ++k) {
      // Odd multiples of the golden ratio's fraction: mantissas without a pattern.
      const T mantissa = k == 0 ? T(1) : 1 + std::fmod(T(0.6180339887498949) * T(k + 7 * (e & 15)), T(1));
      above.push_back(std::ldexp(mantissa, e));
    }
  }
  for (const double s : switches) {
    const auto at = static_cast<T>(std::abs(s));
    above.insert(above.end(), {std::nextafter(at, T(0)), at, std::nextafter(at, Limits::infinity())});
  }
  std::vector<T> all = {Limits::quiet_NaN()};
  for (const T x : above) all.insert(all.end(), {x, -x});
  return all;
}

}  // namespace heed::test
