#include <algorithm>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/expand.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/ops/kernels/rows.h>
#include <heed/ops/reshape.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Calls kernel(result, first element, rows, n) over chunks of the rows of a dense result.
template <class Kernel>
void for_rows(Tensor& result, Kernel&& kernel) {
  const std::int64_t n = result.size(-1);
  if (result.numel() == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / n);
  const kernels::FlushSubnormals flush(result.dtype() == DType::f32);
  visit_floating(result.dtype(), [&]<class T>(std::type_identity<T>) {
    T* out = result.mutable_data<T>();
    parallel_for(result.numel() / n, grain, [&](std::int64_t begin, std::int64_t end) {
      kernel(out + begin * n, begin * n, end - begin, n);
    });
  });
}

// Gradient along the last axis in one pass over dense rows.
template <class Kernel>
Tensor fused_vjp(const Tensor& y, const Tensor& dy, Kernel&& kernel) {
  const Tensor cotangent = contiguous(dy);
  const Tensor output = contiguous(y);
  Tensor dx = empty(y.shape(), y.dtype());
  for_rows(dx, [&]<class T>(T* out, std::int64_t at, std::int64_t rows, std::int64_t n) {
    kernel(output.data<T>() + at, cotangent.data<T>() + at, out, rows, n);
  });
  return dx;
}

// For each row the element of dy where p is above one half, or 0. The gradient is the same for dy less any
// number of the row, and by that one it keeps the digits that the others' small shares make.
Tensor at_saturated(const Tensor& p, const Tensor& dy) {
  const NoGrad guard;
  const Tensor saturated = gt(p.detach(), 0.5);
  return sum(masked_fill(dy.detach(), logical_not(saturated), 0), {-1}, true);
}

struct SoftmaxVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = exp(x − m) / Σ exp(x − m)
    const Tensor& dy = context.cotangent();
    const Tensor p = context.unpack(y);
    if (!context.fused()) {
      const Tensor g = sub(dy, at_saturated(p, dy));
      context.set(0, mul(p, sub(g, sum(mul(g, p), {-1}, true))));
    } else {
      context.set(
          0, fused_vjp(p, dy, [](const auto* a, const auto* g, auto* out, std::int64_t rows, std::int64_t n) {
            kernels::softmax_vjp_rows(a, g, out, rows, n);
          }));
    }
  }
};

struct LogSoftmaxVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = x − m − log Σ exp(x − m)
    const Tensor& dy = context.cotangent();
    const Tensor log_p = context.unpack(y);
    if (!context.fused()) {
      // dy − p Σ dy, as what is left of an element's own cotangent, (1 − p) dy, less p times the others'.
      const Tensor top = gt(log_p.detach(), -std::numbers::ln2);
      const Tensor below_top = expand(sum(masked_fill(dy, top, 0), {-1}, true), dy.shape());
      const Tensor others = where(top, below_top, sub(sum(dy, {-1}, true), dy));
      const Tensor p = exp(log_p);
      const Tensor left = where(top, neg(expm1(masked_fill(log_p, logical_not(top), 0))), sub(1, p));
      context.set(0, sub(mul(dy, left), mul(p, others)));
    } else {
      context.set(0, fused_vjp(log_p, dy,
                               [](const auto* a, const auto* g, auto* out, std::int64_t rows,
                                  std::int64_t n) { kernels::log_softmax_vjp_rows(a, g, out, rows, n); }));
    }
  }
};

Tensor softmax_last(const Tensor& x) {
  const Tensor input = contiguous(x.detach());
  Tensor y = empty(x.shape(), x.dtype());
  for_rows(y, [&]<class T>(T* out, std::int64_t at, std::int64_t rows, std::int64_t n) {
    kernels::softmax_rows(input.data<T>() + at, out, rows, n);
  });
  record("softmax", {&x}, y, [&] { return SoftmaxVjp{save_output(y, "y")}; });
  return y;
}

Tensor log_softmax_last(const Tensor& x) {
  const Tensor input = contiguous(x.detach());
  Tensor y = empty(x.shape(), x.dtype());
  for_rows(y, [&]<class T>(T* out, std::int64_t at, std::int64_t rows, std::int64_t n) {
    kernels::log_softmax_rows(input.data<T>() + at, out, rows, n);
  });
  record("log_softmax", {&x}, y, [&] { return LogSoftmaxVjp{save_output(y, "y")}; });
  return y;
}

// `last` works along the last axis; other axes are brought there and back as views.
template <class Last>
Tensor along(const char* op, const Tensor& x, std::int64_t axis, Last&& last) {
  check_floating(op, "x", x);
  const int k = normalize_axis(op, axis, x.rank());
  if (x.rank() == 0) return reshape(last(reshape(x, {1})), {});
  if (k == x.rank() - 1) return last(x);
  return transpose(last(transpose(x, k, -1)), k, -1);
}

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t axis) { return along("softmax", x, axis, softmax_last); }

Tensor log_softmax(const Tensor& x, std::int64_t axis) {
  return along("log_softmax", x, axis, log_softmax_last);
}

}  // namespace heed
