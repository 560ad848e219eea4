#include <algorithm>
#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>
#include <heed/ops/variance.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Σ d² − (Σ d)² / n with d = x − the rounded mean: the second term takes the rounding of the mean out.
template <class T>
struct VarianceRule {
  struct Acc {
    double mean, sum, squares;
  };
  const T* mean;
  T* y;
  double count, divisor;
  bool root;

  Acc start(std::int64_t output) const { return {static_cast<double>(mean[output]), 0.0, 0.0}; }
  void add(Acc& acc, T value, std::int64_t) const {
    const double d = static_cast<double>(value) - acc.mean;
    acc.sum += d;
    acc.squares += d * d;
  }
  void join(Acc& acc, const Acc& later) const {
    acc.sum += later.sum;
    acc.squares += later.squares;
  }
  void finish(const Acc& acc, std::int64_t output) const {
    const double squares = acc.squares - acc.sum * acc.sum / count;
    const double variance = (squares < 0 ? 0 : squares) / divisor;
    y[output] = static_cast<T>(root ? std::sqrt(variance) : variance);
  }
};

struct VarianceVjp {
  SavedTensor x;
  Shape axes, kept;
  double divisor = 1;
  void vjp(VjpContext& context) const {  // y = Σ (x − μ)² / divisor
    const Tensor value = context.unpack(x);
    const Tensor scale = mul(reshape(context.cotangent(), kept), 2 / divisor);
    context.set(0, mul(sub(value, mean(value, axes, true)), scale));
  }
};

struct StandardDeviationVjp {
  SavedTensor x, y;
  Shape axes, kept;
  double divisor = 1;
  void vjp(VjpContext& context) const {  // y = √(Σ (x − μ)² / divisor)
    const Tensor value = context.unpack(x);
    const Tensor root = reshape(context.unpack(y), kept);
    const Tensor zero = eq(root.detach(), 0);
    const Tensor scale = div(reshape(context.cotangent(), kept), mul(masked_fill(root, zero, 1), divisor));
    context.set(0, mul(sub(value, mean(value, axes, true)), masked_fill(scale, zero, 0)));
  }
};

struct Spread {
  Tensor y;
  Shape kept;
  double divisor;
};

Spread spread(const char* op, const Tensor& x, const Shape& axes, double correction, bool keepdim,
              bool root) {
  check_floating(op, "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes(op, x, axes);
  const auto count = static_cast<double>(reduced.inner.numel);
  const double divisor = std::max(count - correction, 0.0);
  Tensor y = empty(reduced.shape(keepdim), x.dtype());
  const Tensor center = mean(x.detach(), axes, keepdim);
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, reduced,
                      VarianceRule<T>{center.data<T>(), y.mutable_data<T>(), count, divisor, root});
  });
  return {std::move(y), reduced.kept, divisor};
}

}  // namespace

Tensor variance(const Tensor& x, const Shape& axes, double correction, bool keepdim) {
  Spread s = spread("variance", x, axes, correction, keepdim, false);
  record("variance", {&x}, s.y, [&] { return VarianceVjp{save_input(x, "x"), axes, s.kept, s.divisor}; });
  return s.y;
}

Tensor standard_deviation(const Tensor& x, const Shape& axes, double correction, bool keepdim) {
  Spread s = spread("standard_deviation", x, axes, correction, keepdim, true);
  record("standard_deviation", {&x}, s.y, [&] {
    return StandardDeviationVjp{save_input(x, "x"), save_output(s.y, "y"), axes, s.kept, s.divisor};
  });
  return s.y;
}

}  // namespace heed
