#include <limits>

#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/extremum.h>
#include <heed/ops/logsumexp.h>
#include <heed/ops/power.h>
#include <heed/ops/prod.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>

#include "onnx_common.h"
#include "tables.h"

namespace heed::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Reduces over the given axes, or over all where there are none.
using Reduce = std::function<Tensor(const Tensor&, const Shape&, bool)>;

/// Without axes everything is reduced or, with noop_with_empty_axes, nothing: each element is then the sum of
/// itself, for which an axis of size 1 is added and reduced.
Operation reduction(const Reduce& function) {
  return [function](const Call& call) -> Tensors {
    const Tensor x = call.at(0);
    const bool keepdims = call.attributes.flag("keepdims", true);
    const bool keeps_all = call.attributes.flag("noop_with_empty_axes");
    const Shape axes = axes_given(call, 1).value_or(Shape());
    if (axes.empty() && keeps_all) return {function(unsqueeze(x, -1), {-1}, false)};
    return {function(x, axes, keepdims)};
  };
}

using Extremum = Tensor (*)(const Tensor&, const Shape&, bool);

/// The extremum over nothing is the number that loses to every other. Booleans
/// are ordered false, true.
Reduce extremum(Extremum function, double of_nothing) {
  return [=](const Tensor& x, const Shape& axes, bool keepdim) -> Tensor {
    if (x.dtype() == DType::boolean) {
      return cast(function(cast(x, DType::f32), axes, keepdim), DType::boolean);
    }
    if (x.numel() > 0) return function(x, axes, keepdim);
    if (!is_floating(x.dtype())) throw Skip("the extremum of no integers is not known");
    return full(sum(zeros(x.shape()), axes, keepdim).shape(), of_nothing, x.dtype());
  };
}

/// One axis at a time; all of them at once from a flat view.
Tensor product(const Tensor& x, const Shape& axes, bool keepdim) {
  if (axes.empty()) {
    const Tensor result = prod(x);
    return keepdim ? reshape(result, Shape::filled(x.rank(), 1)) : result;
  }
  Tensor result = x;
  for (const std::int64_t axis : axes) result = prod(result, axis, true);
  return keepdim ? result : reshape(result, sum(x, axes, false).shape());
}

Tensor log_of_sum(const Tensor& x, const Shape& axes, bool keepdim) { return log(sum(x, axes, keepdim)); }
Tensor norm_1(const Tensor& x, const Shape& axes, bool keepdim) { return sum(abs(x), axes, keepdim); }
Tensor norm_2(const Tensor& x, const Shape& axes, bool keepdim) {
  return sqrt(sum(square(x), axes, keepdim));
}
Tensor sum_of_squares(const Tensor& x, const Shape& axes, bool keepdim) {
  return sum(square(x), axes, keepdim);
}

Tensor log_of_exponentials(const Tensor& x, const Shape& axes, bool keepdim) {
  return logsumexp(x, axes, keepdim);
}

}  // namespace

void add_onnx_reductions(Table& table) {
  table["ReduceSum"] =
      reduction([](const Tensor& x, const Shape& axes, bool keepdim) { return sum(x, axes, keepdim); });
  table["ReduceMean"] =
      reduction([](const Tensor& x, const Shape& axes, bool keepdim) { return mean(x, axes, keepdim); });
  table["ReduceMax"] = reduction(extremum(amax, -infinity));
  table["ReduceMin"] = reduction(extremum(amin, infinity));
  table["ReduceProd"] = reduction(product);
  table["ReduceL1"] = reduction(norm_1);
  table["ReduceL2"] = reduction(norm_2);
  table["ReduceSumSquare"] = reduction(sum_of_squares);
  table["ReduceLogSum"] = reduction(log_of_sum);
  table["ReduceLogSumExp"] = reduction(log_of_exponentials);
}

}  // namespace heed::conformance
