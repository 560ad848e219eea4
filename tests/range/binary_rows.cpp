#include <cmath>

#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/gated_activation.h>
#include <heed/ops/power.h>
#include <heed/ops/trigonometric.h>
#include <heed/ops/where.h>

#include "rows.h"

namespace heed::test {
namespace {

PlaneJet quotient(Quad a, Quad b) { return {a / b, 1 / b, -a / b / b, 0, -1 / (b * b), 2 * a / b / b / b}; }

// The derivatives vanish where the point is infinitely far.
PlaneJet angle(Quad a, Quad b) {
  const Quad r2 = a * a + b * b;
  if (isinfq(r2)) return {atan2q(a, b), 0, 0, 0, 0, 0};
  const Quad bend = 2 * a * b / r2 / r2;
  return {atan2q(a, b), b / r2, -a / r2, -bend, (a - b) * (a + b) / r2 / r2, bend};
}

// A power that is 0 stays so beside an infinite logarithm or exponent: x^b log x and b q^b have that limit.
Quad scaled(Quad power, Quad factor) { return power == 0 && isinfq(factor) ? quad(0) : power * factor; }

// a^(b − n). Below 0 the sign follows from b: b − n may round to another kind of number.
Quad lower_power(Quad a, Quad b, int n) {
  if (!signbitq(a) || isinfq(b) || isnanq(b)) return powq(a, b - n);
  const Quad size = powq(-a, b - n);
  if (b != floorq(b)) return a < 0 && finiteq(a) ? logq(a) : size;
  return (fmodq(b, 2) != 0) == (n == 1) ? size : -size;
}

PlaneJet power(Quad a, Quad b) {
  const Quad l = logq(a);
  PlaneJet y{.value = powq(a, b)};
  if (b != 0) y.a = scaled(lower_power(a, b, 1), b);
  if (b != 0 && b != 1) y.aa = scaled(lower_power(a, b, 2), b * (b - 1));
  y.ab = scaled(lower_power(a, b, 1), b == 0 ? quad(1) : 1 + b * l);
  const bool flat = a == 0 && b >= 0;  // by the contract
  y.b = flat ? quad(0) : scaled(y.value, l);
  y.bb = flat ? quad(0) : scaled(y.value, l * l);
  return y;
}

// The larger of a and sign b. NaN wins, and beside one both get the cotangent.
PlaneJet extreme(Quad a, Quad b, bool largest) {
  const bool a_loses = largest ? a < b : b < a;
  const bool b_loses = largest ? b < a : a < b;
  const Quad share = quad(a == b ? 0.5 : 1);
  const Quad value = isnanq(a) ? a : isnanq(b) ? b : a_loses ? b : a;
  return {.value = value, .a = a_loses ? quad(0) : share, .b = b_loses ? quad(0) : share};
}

template <class F>
BinaryRow comparison(const char* op, Tensor (*function)(const Tensor&, const Tensor&), F holds) {
  return {op,       "",
          function, [=](Quad a, Quad b) { return PlaneJet{.value = quad(holds(a, b) ? 1 : 0)}; },
          HUGE_VAL, false};
}

Jet times_sigmoid(Quad x) { return variable(x) * sigmoid_jet(x); }

// 0, but for a NaN in the other half of the tensor, which the derivative of the whole meets.
Quad lost(Quad x) { return isnanq(x) ? x : quad(0); }

Tensor halves(const Tensor& a, const Tensor& b) { return concat({a, b}, 0); }

std::vector<BinaryRow> all_rows() {
  using T = const Tensor&;
  const auto chosen = [](bool first) {
    return [first](T a, T b) { return where(full(a.shape(), first, DType::boolean), a, b); };
  };
  return {
      {"add", "", [](T a, T b) { return add(a, b); },
       [](Quad a, Quad b) {
         return PlaneJet{a + b, 1, 1};
       }},
      {"sub", "", [](T a, T b) { return sub(a, b); },
       [](Quad a, Quad b) {
         return PlaneJet{a - b, 1, -1};
       }},
      {"mul", "", [](T a, T b) { return mul(a, b); },
       [](Quad a, Quad b) { return PlaneJet{a * b, b, a, 0, 1, 0}; }},
      {"div", "", [](T a, T b) { return div(a, b); }, quotient},
      {"pow", "", [](T a, T b) { return pow(a, b); }, power},
      {"atan2", "", atan2, angle},
      {"maximum", "", maximum, [](Quad a, Quad b) { return extreme(a, b, true); }},
      {"minimum", "", minimum, [](Quad a, Quad b) { return extreme(a, b, false); }},
      {"where", "the first", chosen(true),
       [](Quad a, Quad) {
         return PlaneJet{a, 1, 0};
       }},
      {"where", "the second", chosen(false),
       [](Quad, Quad b) {
         return PlaneJet{b, 0, 1};
       }},
      // A gate is a result in the dtype before it is multiplied: what is subnormal there has fewer digits,
      // which a large factor would show.
      {"glu", "", [](T a, T b) { return glu(halves(a, b), 0); },
       [](Quad a, Quad b) {
         const Jet s = sigmoid_jet(b);
         return PlaneJet{a * s.value, s.value, a * s.first, lost(b), s.first, a * s.second};
       },
       3},
      {"swiglu", "y = a silu(b)", [](T a, T b) { return swiglu(halves(b, a), 0); },
       [](Quad a, Quad b) {
         Jet s = times_sigmoid(isinfq(b) ? copysignq(far_out(), b) : b);
         if (isinfq(b) && b > 0) s.value = b;
         return PlaneJet{a * s.value, s.value, a * s.first, lost(b), s.first, a * s.second};
       },
       3},
      comparison("eq", eq, [](Quad a, Quad b) { return a == b; }),
      comparison("ne", ne, [](Quad a, Quad b) { return a != b; }),
      comparison("lt", lt, [](Quad a, Quad b) { return a < b; }),
      comparison("le", le, [](Quad a, Quad b) { return a <= b; }),
      comparison("gt", gt, [](Quad a, Quad b) { return a > b; }),
      comparison("ge", ge, [](Quad a, Quad b) { return a >= b; }),
      // The kinds of a number, as comparisons whose second operand is not looked at.
      comparison(
          "isnan", [](const Tensor& a, const Tensor&) { return isnan(a); },
          [](Quad a, Quad) { return isnanq(a) != 0; }),
      comparison(
          "isinf", [](const Tensor& a, const Tensor&) { return isinf(a); },
          [](Quad a, Quad) { return isinfq(a) != 0; }),
      comparison(
          "isfinite", [](const Tensor& a, const Tensor&) { return isfinite(a); },
          [](Quad a, Quad) { return finiteq(a) != 0; }),
      // Tolerances whose borders no pair of the walk comes near.
      comparison(
          "isclose",
          [](const Tensor& a, const Tensor& b) { return isclose(a, b, {.rtol = 1e-3, .atol = 1.1e-5}); },
          [](Quad a, Quad b) {
            const bool finite = finiteq(a) && finiteq(b);
            return a == b || (finite && fabsq(a - b) <= quad(1.1e-5) + quad(1e-3) * fabsq(b));
          }),
  };
}

}  // namespace

const std::vector<BinaryRow>& binary_rows() {
  static const std::vector<BinaryRow> rows = all_rows();
  return rows;
}

}  // namespace heed::test
