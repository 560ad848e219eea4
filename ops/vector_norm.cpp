#include <cmath>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/extremum.h>
#include <heed/ops/power.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/sum.h>
#include <heed/ops/vector_norm.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

template <class T>
struct PowerSumRule {
  using Acc = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  T* y;
  double order;

  Acc start(std::int64_t) const { return 0; }
  void add(Acc& acc, T value, std::int64_t) const {
    const Acc v = std::abs(static_cast<Acc>(value));
    acc += order == 2 ? v * v : std::pow(v, static_cast<Acc>(order));
  }
  void join(Acc& acc, const Acc& later) const { acc += later; }
  void finish(const Acc& acc, std::int64_t output) const {
    y[output] = static_cast<T>(order == 2 ? std::sqrt(acc) : std::pow(acc, 1 / static_cast<Acc>(order)));
  }
};

struct VectorNormVjp {
  SavedTensor x, y;
  Shape kept;
  double order = 2;
  void vjp(VjpContext& context) const {  // y = (Σ |x|^p)^(1/p)
    const Tensor value = context.unpack(x);
    const Tensor norm = reshape(context.unpack(y), kept);
    const Tensor zero = eq(norm.detach(), 0);
    const Tensor dy = masked_fill(reshape(context.cotangent(), kept), zero, 0);
    const Tensor ratio = div(value, masked_fill(norm, zero, 1));
    if (order == 2) {
      context.set(0, mul(ratio, dy));
      return;
    }
    // 1 in place of 0 keeps |x|^(p−1) finite for p < 1; sign(x) = 0 clears it again.
    const Tensor size = masked_fill(abs(ratio), eq(value.detach(), 0), order < 1 ? 1 : 0);
    context.set(0, mul(mul(sign(value), pow(size, order - 1)), dy));
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
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, reduced, PowerSumRule<T>{y.mutable_data<T>(), order});
  });
  record("vector_norm", {&x}, y, [&] {
    return VectorNormVjp{save_input(x, "x"), save_output(y, "y"), reduced.kept, order};
  });
  return y;
}

}  // namespace heed
