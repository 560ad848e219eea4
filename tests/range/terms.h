#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "../support/quad.h"

namespace heed::test {

/// A number in 113 bits as it moves along two directions s and t, and the size of what it is made of: for
/// each of value, ∂s, ∂t and ∂s∂t the sum of its terms' sizes, in which rounding is measured.
struct Terms {
  std::array<Quad, 4> at = {};  // value, ∂s, ∂t, ∂s∂t
  std::array<Quad, 4> size = {};

  Quad value() const { return at[0]; }
};

inline Terms number(Quad value, Quad s = 0, Quad t = 0) {
  return {{value, s, t, 0}, {fabsq(value), fabsq(s), fabsq(t), 0}};
}

inline Terms operator+(const Terms& a, const Terms& b) {
  Terms y;
  for (std::size_t k = 0; k < 4; ++k) {
    y.at[k] = a.at[k] + b.at[k];
    y.size[k] = a.size[k] + b.size[k];
  }
  return y;
}
inline Terms operator*(Quad c, const Terms& a) {
  Terms y;
  for (std::size_t k = 0; k < 4; ++k) {
    y.at[k] = c * a.at[k];
    y.size[k] = fabsq(c) * a.size[k];
  }
  return y;
}
inline Terms operator-(const Terms& a, const Terms& b) { return a + quad(-1) * b; }
inline Terms operator*(const Terms& a, const Terms& b) {
  const auto product = [](const std::array<Quad, 4>& x, const std::array<Quad, 4>& y) {
    return std::array<Quad, 4>{x[0] * y[0], x[1] * y[0] + x[0] * y[1], x[2] * y[0] + x[0] * y[2],
                               x[3] * y[0] + x[1] * y[2] + x[2] * y[1] + x[0] * y[3]};
  };
  return {product(a.at, b.at), product(a.size, b.size)};
}

/// f(u), given f and its first three derivatives at u. What the terms of u are uncertain by moves f
/// and its derivatives.
inline Terms chain(const std::array<Quad, 4>& f, const Terms& u) {
  const auto along = [](Quad first, Quad second, const std::array<Quad, 4>& d) {
    return std::array<Quad, 4>{0, first * d[1], first * d[2], second * d[1] * d[2] + first * d[3]};
  };
  Terms y{along(f[1], f[2], u.at), {}};
  const auto felt = [&](std::size_t k) {
    return std::max(fabsq(f[k]), f[k + 1] == 0 ? quad(0) : fabsq(f[k + 1]) * u.size[0]);
  };
  y.size = along(felt(1), felt(2), u.size);
  y.at[0] = f[0];
  y.size[0] = felt(0);
  return y;
}

/// a − b of two operands: their difference is rounded once, whatever their size.
inline Terms difference(const Terms& a, const Terms& b) {
  Terms y = a - b;
  y.size[0] = fabsq(y.at[0]);
  return y;
}

inline Terms exp(const Terms& u) {
  const Quad e = expq(u.value());
  return chain({e, e, e, e}, u);
}
inline Terms log1p(const Terms& u) {
  const Quad r = 1 / (1 + u.value());
  return chain({log1pq(u.value()), r, -r * r, 2 * r * r * r}, u);
}
inline Terms log(const Terms& u) {
  const Quad r = 1 / u.value();
  return chain({logq(u.value()), r, -r * r, 2 * r * r * r}, u);
}
inline Terms power(const Terms& u, Quad p) {
  const Quad x = u.value();
  return chain(
      {powq(x, p), p * powq(x, p - 1), p * (p - 1) * powq(x, p - 2), p * (p - 1) * (p - 2) * powq(x, p - 3)},
      u);
}
inline Terms reciprocal(const Terms& u) {
  const Quad r = 1 / u.value();
  return chain({r, -r * r, 2 * r * r * r, -6 * r * r * r * r}, u);
}
inline Terms square_root(const Terms& u) { return power(u, quad(0.5)); }
inline Terms absolute(const Terms& u) {
  const Quad sign = u.value() > 0 ? 1 : u.value() < 0 ? -1 : 0;
  return chain({fabsq(u.value()), sign, 0, 0}, u);
}
inline Terms softplus(const Terms& u) {
  const Quad x = u.value();
  const Quad e = expq(-fabsq(x));
  const Quad p = (x < 0 ? e : quad(1)) / (1 + e);
  const Quad slope = e / ((1 + e) * (1 + e));
  return chain({log1pq(e) + (x < 0 ? quad(0) : x), p, slope, -slope * tanhq(x / 2)}, u);
}

using Line = std::vector<Terms>;

inline Terms total(const Line& x) {
  Terms y;
  for (const Terms& v : x) y = y + v;
  return y;
}

/// x − mean x. The terms of its value are deviations from the mean: how large that is does not matter.
inline Line centered(const Line& x) {
  const Quad n = static_cast<Quad>(x.size());
  const Terms mean = 1 / n * total(x);
  Line d;
  Quad spread = 0;
  for (const Terms& v : x) {
    d.push_back(v - mean);
    spread += fabsq(d.back().value()) / n;
  }
  for (Terms& v : d) v.size[0] = fabsq(v.value()) + spread;
  return d;
}

inline std::size_t largest_of(const Line& x) {
  const auto below = [](const Terms& a, const Terms& b) { return a.value() < b.value(); };
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end(), below) - x.begin());
}

/// Σ e^(x_j − x_m) over j ≠ m, m the largest.
inline Terms others(const Line& x) {
  const std::size_t m = largest_of(x);
  Terms sum;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (j != m) sum = sum + exp(difference(x[j], x[m]));
  }
  return sum;
}

/// −log of the share of each element.
inline Line minus_log_shares(const Line& x) {
  const Terms log_sum = log1p(others(x));
  const std::size_t m = largest_of(x);
  Line y;
  for (std::size_t c = 0; c < x.size(); ++c) y.push_back(c == m ? log_sum : difference(x[m], x[c]) + log_sum);
  return y;
}

}  // namespace heed::test
