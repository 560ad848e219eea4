#include <algorithm>
#include <cmath>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>

namespace heed {
namespace {

template <class T>
struct MeanRule : detail::SumRule<T> {
  double count;
  void finish(double acc, std::int64_t output) const { this->y[output] = static_cast<T>(acc / count); }
};

// A mean of large numbers whose sum f64 cannot hold. Results that were finite stay as they are.
struct LargeMeanRule {
  static constexpr double unit = 0x1p-64;
  using Acc = double;
  double* y;
  double count;

  Acc start(std::int64_t) const { return 0; }
  void add(Acc& acc, double value, std::int64_t) const { acc += value * unit; }
  void join(Acc& acc, const Acc& later) const { acc += later; }
  void finish(Acc acc, std::int64_t output) const {
    if (!std::isfinite(y[output])) y[output] = acc / count / unit;
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

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, {}); }

Tensor sum(const Tensor& x, const Shape& axes, bool keepdim) {
  check_numeric("sum", "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes("sum", x, axes);
  Tensor y = empty(reduced.shape(keepdim), x.dtype());
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, reduced, detail::SumRule<T>{y.mutable_data<T>()});
  });
  record("sum", {&x}, y, [&] { return SumVjp{x.shape(), reduced.kept}; });
  return y;
}

Tensor mean(const Tensor& x) { return mean(x, {}); }

Tensor mean(const Tensor& x, const Shape& axes, bool keepdim) {
  check_floating("mean", "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes("mean", x, axes);
  const auto count = static_cast<double>(reduced.inner.numel);
  Tensor y = empty(reduced.shape(keepdim), x.dtype());
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* out = y.mutable_data<T>();
    detail::reduce<T>(x, reduced, MeanRule<T>{{out}, count});
    if constexpr (std::is_same_v<T, double>) {
      const bool finite = std::all_of(out, out + y.numel(), [](T v) { return std::isfinite(v); });
      if (!finite && count > 0) detail::reduce<T>(x, reduced, LargeMeanRule{out, count});
    }
  });
  record("mean", {&x}, y, [&] { return MeanVjp{x.shape(), reduced.kept, count}; });
  return y;
}

}  // namespace heed
