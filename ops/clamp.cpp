#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

struct ClampVjp {
  SavedTensor x;
  std::optional<double> low, high;
  void vjp(VjpContext& context) const {  // y = min(max(x, low), high)
    const Tensor x_ = context.unpack(x).detach();
    Tensor dx = context.cotangent();
    if (low) dx = where(ge(x_, *low), dx, 0);
    if (high) dx = where(le(x_, *high), dx, 0);
    context.set(0, dx);
  }
};

struct ExtremeVjp {
  SavedTensor a, b;
  bool largest = true;
  void vjp(VjpContext& context) const {  // y = a or b, whichever is the extreme; half each at a tie
    const Tensor& dy = context.cotangent();
    const Tensor a_ = context.unpack(a).detach();
    const Tensor b_ = context.unpack(b).detach();
    const Tensor tie = eq(a_, b_);
    const Tensor half = where(tie, mul(dy, 0.5), dy);
    // Where a or b is NaN, neither is below the other, and both get all of dy.
    const Tensor a_below = lt(a_, b_);
    const Tensor b_below = lt(b_, a_);
    if (context.needs(0)) context.set(0, where(largest ? a_below : b_below, 0, half));
    if (context.needs(1)) context.set(1, where(largest ? b_below : a_below, 0, half));
  }
};

template <class Wins>
Tensor extreme(const char* op, const Tensor& a, const Tensor& b, bool largest, Wins wins) {
  check_numeric(op, "a", a);
  check_same_dtype(op, "a", a, "b", b);
  const detail::Operands x(op, a, b);
  Tensor y = visit_numeric(a.dtype(), [&]<class T>(std::type_identity<T>) {
    // v != v is NaN: whichever operand holds it, it stays.
    return detail::map_binary<T, T>(x.a, x.b,
                                    [&](T u, T v) { return u != u || (v == v && !wins(v, u)) ? u : v; });
  });
  record(op, {&x.a, &x.b}, y, [&] {
    return ExtremeVjp{save_input(x.a, "a"), save_input(x.b, "b"), largest};
  });
  return y;
}

}  // namespace

Tensor clamp(const Tensor& x, std::optional<double> low, std::optional<double> high) {
  check_floating("clamp", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [&](T v) {
      // Not (v >= low): a bound that is NaN compares false, and wins.
      if (low && !(v >= static_cast<T>(*low)) && v == v) v = static_cast<T>(*low);
      if (high && !(v <= static_cast<T>(*high)) && v == v) v = static_cast<T>(*high);
      return v;
    });
  });
  record("clamp", {&x}, y, [&] { return ClampVjp{save_input(x, "x"), low, high}; });
  return y;
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return extreme("maximum", a, b, true, [](auto u, auto v) { return u > v; });
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return extreme("minimum", a, b, false, [](auto u, auto v) { return u < v; });
}

}  // namespace heed
