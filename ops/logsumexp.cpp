#include <cmath>
#include <limits>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/extremum.h>
#include <heed/ops/logsumexp.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Σ exp(x − shift), the elements that are the shift counted apart: beside their ones the sum would lose
// what is small. The shift of each output is its maximum, or 0 where that is not finite.
template <class T>
struct ExpSumRule {
  struct Acc {
    T shift;
    double ties, rest;
  };
  const T* maximum;
  T* y;

  Acc start(std::int64_t output) const {
    return {std::isfinite(maximum[output]) ? maximum[output] : T(0), 0.0, 0.0};
  }
  void add(Acc& acc, T value, std::int64_t) const {
    if (value == acc.shift) {
      acc.ties += 1;
    } else {
      acc.rest += static_cast<double>(std::exp(value - acc.shift));
    }
  }
  void join(Acc& acc, const Acc& later) const {
    acc.ties += later.ties;
    acc.rest += later.rest;
  }
  void finish(const Acc& acc, std::int64_t output) const {
    y[output] = static_cast<T>(static_cast<double>(acc.shift) + std::log1p(acc.ties - 1 + acc.rest));
  }
};

// softmax over several axes: those where `kept` has 1, brought to the end and joined.
Tensor shares(const Tensor& x, const Shape& kept) {
  Shape order, reduced;
  Shape back = x.shape();
  for (int k = 0; k < x.rank(); ++k) (kept[k] == x.shape()[k] ? order : reduced).push_back(k);
  for (const std::int64_t k : reduced) order.push_back(k);
  for (int k = 0; k < x.rank(); ++k) back[static_cast<int>(order[k])] = k;
  const Tensor moved = permute(x, order);
  const std::int64_t outer = element_count(kept);
  const Tensor rows = reshape(moved, {outer, x.numel() / outer});
  return permute(reshape(softmax(rows), moved.shape()), back);
}

struct LogSumExpVjp {
  SavedTensor x;
  Shape axes, kept;
  void vjp(VjpContext& context) const {  // y = log Σ exp(x)
    // By shares of exp(x − m): exp(x − y) would have lost the digits that the rounding of y took.
    const Tensor value = context.unpack(x);
    if (value.numel() == 0) return context.set(0, zeros(value.shape(), value.dtype()));
    const Tensor top = amax(value.detach(), axes, true);
    const Tensor no_row = logical_or(eq(top, inf), eq(top, -inf));
    // exp(−inf − 0) = 0 in a row of −inf alone; beside +inf the others have 0.
    const Tensor at_infinity = exp(sub(value.detach(), masked_fill(top, eq(top, -inf), 0)));
    const Tensor share = where(no_row, at_infinity, shares(masked_fill(value, no_row, 0), kept));
    context.set(0, mul(share, reshape(context.cotangent(), kept)));
  }
};

}  // namespace

Tensor logsumexp(const Tensor& x, const Shape& axes, bool keepdim) {
  check_floating("logsumexp", "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes("logsumexp", x, axes);
  Tensor y = full(reduced.shape(keepdim), -inf, x.dtype());
  if (reduced.inner.numel > 0) {
    const Tensor maximum = amax(x.detach(), axes, keepdim);
    visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
      detail::reduce<T>(x, reduced, ExpSumRule<T>{maximum.data<T>(), y.mutable_data<T>()});
    });
  }
  record("logsumexp", {&x}, y, [&] { return LogSumExpVjp{save_input(x, "x"), axes, reduced.kept}; });
  return y;
}

}  // namespace heed
