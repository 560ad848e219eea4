#include <type_traits>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>

namespace heed {
namespace {

// Integers are added without sign, so that they wrap.
template <class T>
struct SumRule {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  T* y;
  double divisor;

  Acc start(std::int64_t) const { return 0; }
  void add(Acc& acc, T value, std::int64_t) const { acc += static_cast<Acc>(value); }
  void join(Acc& acc, const Acc& later) const { acc += later; }
  void finish(const Acc& acc, std::int64_t output) const {
    if constexpr (std::is_floating_point_v<T>) {
      y[output] = static_cast<T>(acc / divisor);
    } else {
      y[output] = static_cast<T>(acc);
    }
  }
};

struct SumVjp {
  Shape shape, kept;
  void vjp(VjpContext& context) const {  // y = Σ x
    context.set(0, expand(reshape(context.cotangent(), kept), shape));
  }
};

struct MeanVjp {
  Shape shape, kept;
  double count = 1;
  void vjp(VjpContext& context) const {  // y = Σ x / count
    context.set(0, expand(reshape(mul(context.cotangent(), 1 / count), kept), shape));
  }
};

Tensor summed(const Tensor& x, const detail::ReduceAxes& axes, bool keepdim, double divisor) {
  Tensor y = empty(axes.shape(keepdim), x.dtype());
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, axes, SumRule<T>{y.mutable_data<T>(), divisor});
  });
  return y;
}

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, {}); }

Tensor sum(const Tensor& x, const Shape& axes, bool keepdim) {
  check_numeric("sum", "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes("sum", x, axes);
  Tensor y = summed(x, reduced, keepdim, 1);
  record("sum", {&x}, y, [&] { return SumVjp{x.shape(), reduced.kept}; });
  return y;
}

Tensor mean(const Tensor& x) { return mean(x, {}); }

Tensor mean(const Tensor& x, const Shape& axes, bool keepdim) {
  check_floating("mean", "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes("mean", x, axes);
  const auto count = static_cast<double>(reduced.inner.numel);
  Tensor y = summed(x, reduced, keepdim, count);
  record("mean", {&x}, y, [&] { return MeanVjp{x.shape(), reduced.kept, count}; });
  return y;
}

}  // namespace heed
