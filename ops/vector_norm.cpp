#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/extremum.h>
#include <heed/ops/power.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/sum.h>
#include <heed/ops/vector_norm.h>
#include <heed/ops/where.h>
#include <heed/ops/zero_norm.h>

namespace heed {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// √Σ x²
template <class T>
struct SquareSumRule {
  using Acc = Wide<T>;
  T* y;

  Acc start(std::int64_t) const { return 0; }
  void add(Acc& acc, T value, std::int64_t) const {
    const Acc v = value;
    acc += v * v;
  }
  void join(Acc& acc, const Acc& later) const { acc += later; }
  void finish(const Acc& acc, std::int64_t output) const { y[output] = static_cast<T>(std::sqrt(acc)); }
};

// m (Σ (|x| / m)^p)^(1/p) with the largest element m: no power is beyond the range.
template <class T>
struct PowerSumRule {
  struct Acc {
    Wide<T> unit, sum;
  };
  const T* largest;
  T* y;
  double order;

  Acc start(std::int64_t output) const {
    const T m = largest[output];
    return {m > 0 && std::isfinite(m) ? static_cast<Wide<T>>(m) : 1, 0};
  }
  void add(Acc& acc, T value, std::int64_t) const {
    acc.sum += std::pow(std::abs(static_cast<Wide<T>>(value)) / acc.unit, static_cast<Wide<T>>(order));
  }
  void join(Acc& acc, const Acc& later) const { acc.sum += later.sum; }
  void finish(const Acc& acc, std::int64_t output) const {
    y[output] = static_cast<T>(acc.unit * std::pow(acc.sum, 1 / static_cast<Wide<T>>(order)));
  }
};

bool any_of(const Tensor& mask) {
  const Tensor dense = contiguous(mask);
  const bool* at = dense.data<bool>();
  return std::any_of(at, at + dense.numel(), [](bool v) { return v; });
}

struct VectorNormVjp {
  SavedTensor x, y;
  Shape kept;
  double order = 2;
  void vjp(VjpContext& context) const {  // y = (Σ |x|^p)^(1/p)
    const Tensor value = context.unpack(x);
    const Tensor result = context.unpack(y);
    const Tensor zero = reshape(eq(result.detach(), 0), kept);
    const Tensor dy = detail::cotangent_of_norm(context.cotangent(), result, kept);
    const Tensor ratio = direction(value, masked_fill(reshape(result, kept), zero, 1));
    Tensor dx;
    if (order == 2) {
      dx = mul(ratio, dy);
    } else {
      // 1 in place of 0 keeps |x|^(p−1) finite for p < 1; sign(x) = 0 clears it again.
      Tensor size = abs(ratio);
      if (order < 1) size = masked_fill(size, eq(value.detach(), 0), 1);
      dx = mul(mul(sign(value), pow(size, order - 1)), dy);
    }
    if (context.recording()) {
      const Tensor at_zero = detail::slope_at_zero_norm(
          context, {.x = value, .y = result, .v = value, .kept = kept, .euclidean = order == 2});
      if (at_zero.defined()) dx = add(dx, at_zero);
    }
    context.set(0, dx);
  }

  // x / y, by smaller numbers where y is beyond the largest one.
  Tensor direction(const Tensor& value, const Tensor& norm) const {
    const Tensor beyond = eq(norm.detach(), std::numeric_limits<double>::infinity());
    if (!any_of(beyond)) return div(value, norm);
    Shape axes;
    for (int k = 0; k < value.rank(); ++k) {
      if (kept[k] != value.shape()[k]) axes.push_back(k);
    }
    const Tensor unit = masked_fill(ones(kept, value.dtype()), beyond, 0x1p-64);
    const Tensor small = mul(value, unit);
    return div(small, where(beyond, vector_norm(small, order, axes, true), norm));
  }
};

}  // namespace

Tensor vector_norm(const Tensor& x, double order, const Shape& axes, bool keepdim) {
  check_floating("vector_norm", "x", x);
  check_value(order > 0, "vector_norm", "order", order, "order > 0");
  if (order == 1) return sum(abs(x), axes, keepdim);
  const detail::ReduceAxes reduced = detail::reduce_axes("vector_norm", x, axes);
  if (std::isinf(order)) {
    detail::check_not_empty("vector_norm", x, reduced);
    return amax(abs(x), axes, keepdim);
  }
  Tensor y = empty(reduced.shape(keepdim), x.dtype());
  const bool powers = order != 2 && reduced.inner.numel > 0;
  const Tensor largest = powers ? amax(abs(x.detach()), axes, keepdim) : Tensor();
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (powers) {
      detail::reduce<T>(x, reduced, PowerSumRule<T>{largest.data<T>(), y.mutable_data<T>(), order});
    } else {
      detail::reduce<T>(x, reduced, SquareSumRule<T>{y.mutable_data<T>()});
    }
  });
  record("vector_norm", {&x}, y, [&] {
    return VectorNormVjp{save_input(x, "x"), save_output(y, "y"), reduced.kept, order};
  });
  return y;
}

}  // namespace heed
