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
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Σ exp(x − shift); the shift of each output is its maximum, or 0 where that is not finite.
template <class T>
struct ExpSumRule {
  struct Acc {
    T shift;
    double sum;
  };
  const T* maximum;
  T* y;

  Acc start(std::int64_t output) const {
    return {std::isfinite(maximum[output]) ? maximum[output] : T(0), 0.0};
  }
  void add(Acc& acc, T value, std::int64_t) const {
    acc.sum += static_cast<double>(std::exp(value - acc.shift));
  }
  void join(Acc& acc, const Acc& later) const { acc.sum += later.sum; }
  void finish(const Acc& acc, std::int64_t output) const {
    y[output] = static_cast<T>(static_cast<double>(acc.shift) + std::log(acc.sum));
  }
};

struct LogSumExpVjp {
  SavedTensor x, y;
  Shape kept;
  void vjp(VjpContext& context) const {  // y = log Σ exp(x)
    Tensor total = reshape(context.unpack(y), kept);
    total = masked_fill(total, eq(total.detach(), -inf), 0);  // exp(−inf − 0) = 0, where −inf − −inf is NaN
    const Tensor share = exp(sub(context.unpack(x), total));
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
  record("logsumexp", {&x}, y, [&] {
    return LogSumExpVjp{save_input(x, "x"), save_output(y, "y"), reduced.kept};
  });
  return y;
}

}  // namespace heed
