#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/extremum.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/sum.h>
#include <heed/ops/variance.h>
#include <heed/ops/where.h>
#include <heed/ops/zero_norm.h>

namespace heed {
namespace {

// Σ d² − (Σ d)² / n with d = x − the rounded mean: the second term takes the rounding of the mean out.
// f64 in extended precision, so that squares of large numbers do not overflow.
template <class T>
struct VarianceRule {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  struct Acc {
    Wide mean, sum, squares;
  };
  const T* mean;
  T* y;
  double count, divisor;
  bool root;

  Acc start(std::int64_t output) const { return {static_cast<Wide>(mean[output]), 0, 0}; }
  void add(Acc& acc, T value, std::int64_t) const {
    const Wide d = static_cast<Wide>(value) - acc.mean;
    acc.sum += d;
    acc.squares += d * d;
  }
  void join(Acc& acc, const Acc& later) const {
    acc.sum += later.sum;
    acc.squares += later.squares;
  }
  void finish(const Acc& acc, std::int64_t output) const {
    const Wide squares = acc.squares - acc.sum * acc.sum / count;
    const Wide variance = (squares < 0 ? 0 : squares) / divisor;
    y[output] = static_cast<T>(root ? std::sqrt(variance) : variance);
  }
};

// x − μ is unit · d; the second mean is what the rounding of the first left. The unit is 1 unless a
// difference could be beyond the largest number.
struct Deviations {
  Tensor d;
  double unit = 1;
};

Deviations deviations(const Tensor& x, const Shape& axes) {
  Deviations result;
  const bool beyond = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return x.numel() > 0 && amax(abs(x.detach())).template item<T>() > std::numeric_limits<T>::max() / 8;
  });
  if (beyond) result.unit = 8;
  const Tensor scaled = beyond ? mul(x, 1 / result.unit) : x;
  const Tensor d = sub(scaled, mean(scaled, axes, true));
  result.d = sub(d, mean(d, axes, true));
  return result;
}

struct VarianceVjp {
  SavedTensor x;
  Shape axes, kept;
  double divisor = 1;
  void vjp(VjpContext& context) const {  // y = Σ (x − μ)² / divisor
    const Tensor scale = mul(reshape(context.cotangent(), kept), 2 / divisor);
    const auto [d, unit] = deviations(context.unpack(x), axes);
    const Tensor dx = mul(d, scale);
    context.set(0, unit == 1 ? dx : mul(dx, unit));
  }
};

struct StandardDeviationVjp {
  SavedTensor x, y;
  Shape axes, kept;
  double divisor = 1;
  void vjp(VjpContext& context) const {  // y = √(Σ (x − μ)² / divisor)
    const Tensor value = context.unpack(x);
    const Tensor result = context.unpack(y);
    const Tensor root = reshape(result, kept);
    const Tensor zero = eq(root.detach(), 0);
    const auto [d, unit] = deviations(value, axes);
    // The quotient d / y first: 1 / y may be beyond the range.
    const Tensor scale = mul(reshape(context.cotangent(), kept), 1 / divisor);
    const Tensor divisible = masked_fill(root, zero, 1);
    const Tensor direction = div(d, unit == 1 ? divisible : mul(divisible, 1 / unit));
    Tensor dx = mul(direction, detail::cotangent_of_norm(scale, result, kept));
    if (context.recording()) {
      const Tensor at_zero = detail::slope_at_zero_norm(
          context, {.x = value, .y = result, .v = mul(d, 1 / divisor), .kept = kept});
      if (at_zero.defined()) dx = add(dx, at_zero);
    }
    context.set(0, dx);
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
