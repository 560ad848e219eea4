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
    detail::reduce<T>(x, reduced, MeanRule<T>{{y.mutable_data<T>()}, count});
  });
  record("mean", {&x}, y, [&] { return MeanVjp{x.shape(), reduced.kept, count}; });
  return y;
}

}  // namespace heed
