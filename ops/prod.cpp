#include <algorithm>
#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/pad.h>
#include <heed/ops/prod.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

namespace heed {
namespace {

// Floating elements are combined in double, integers without sign, so that they wrap.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
struct ProductRule {
  using Acc = Wide<T>;
  T* y;

  Acc start(std::int64_t) const { return 1; }
  void add(Acc& acc, T value, std::int64_t) const { acc *= static_cast<Acc>(value); }
  void join(Acc& acc, const Acc& later) const { acc *= later; }
  void finish(const Acc& acc, std::int64_t output) const { y[output] = static_cast<T>(acc); }
};

// r_i = b_i + a_i r_{i−1} along the last axis, r_{−1} = 0. Without a: a_i = 1.
template <class T>
void scan_lines(const T* a, const T* b, T* r, std::int64_t lines, std::int64_t n) {
  parallel_for(lines, std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(n, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t line = begin; line < end; ++line) {
                   Wide<T> carry = 0;
                   for (std::int64_t i = line * n; i < (line + 1) * n; ++i) {
                     if (a != nullptr) carry *= static_cast<Wide<T>>(a[i]);
                     carry += static_cast<Wide<T>>(b[i]);
                     r[i] = static_cast<T>(carry);
                   }
                 }
               });
}

Tensor scanned(const Tensor& a, const Tensor& b) {
  const Tensor dense_a = a.defined() ? contiguous(a) : a;
  const Tensor dense_b = contiguous(b);
  Tensor r = empty(b.shape(), b.dtype());
  visit_numeric(b.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::int64_t n = b.size(-1);
    scan_lines(a.defined() ? dense_a.data<T>() : nullptr, dense_b.data<T>(), r.mutable_data<T>(),
               n == 0 ? 0 : b.numel() / n, n);
  });
  return r;
}

Tensor reversed(const Tensor& x) { return flip(x, {-1}); }

// x_0, x_1, … → first, x_0, x_1, … of the same length, along the last axis.
Tensor shifted(const Tensor& x, Scalar first) {
  Shape before = Shape::filled(x.rank(), 0);
  const Shape after = before;
  before[x.rank() - 1] = 1;
  return pad(narrow(x, -1, 0, x.size(-1) - 1), before, after, first);
}

// The recurrence is closed under differentiation: its cotangent obeys the same one, backwards.
Tensor linear_scan(const Tensor& a, const Tensor& b);

struct LinearScanVjp {
  SavedTensor a, r;
  void vjp(VjpContext& context) const {  // r_i = b_i + a_i r_{i−1}
    const Tensor decay = shifted(reversed(context.unpack(a)), 0);
    const Tensor db =
        reversed(linear_scan(decay, reversed(context.cotangent())));  // g_i = dr_i + a_{i+1} g_{i+1}
    if (context.needs(0)) context.set(0, mul(db, shifted(context.unpack(r), 0)));
    context.set(1, db);
  }
};

Tensor linear_scan(const Tensor& a, const Tensor& b) {
  Tensor r = scanned(a.detach(), b.detach());
  record("cumprod", {&a, &b}, r, [&] { return LinearScanVjp{save_input(a, "x"), save_output(r, "y")}; });
  return r;
}

struct CumsumVjp {
  int axis = 0;
  void vjp(VjpContext& context) const {  // y_i = Σ_{j<=i} x_j
    context.set(0, flip(cumsum(flip(context.cotangent(), {axis}), axis), {axis}));
  }
};

struct ProdVjp {
  SavedTensor x;
  Shape kept;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = Π x
    const Tensor lines = transpose(context.unpack(x), axis, -1);
    if (lines.numel() == 0) {
      context.set(0, zeros_like(transpose(lines.detach(), axis, -1)));
      return;
    }
    const Tensor before = cumprod(shifted(lines, 1), -1);
    const Tensor behind = reversed(cumprod(shifted(reversed(lines), 1), -1));
    const Tensor dy = transpose(reshape(context.cotangent(), kept), axis, -1);
    context.set(0, transpose(mul(mul(before, behind), dy), axis, -1));
  }
};

}  // namespace

Tensor prod(const Tensor& x) {
  check_numeric("prod", "x", x);
  return prod(reshape(x, {x.numel()}), 0);
}

Tensor prod(const Tensor& x, std::int64_t axis, bool keepdim) {
  check_numeric("prod", "x", x);
  const int k = normalize_axis("prod", axis, x.rank());
  if (x.rank() == 0) return prod(reshape(x, {1}), 0);
  const detail::ReduceAxes reduced = detail::reduce_axes("prod", x, {k});
  Tensor y = empty(reduced.shape(keepdim), x.dtype());
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, reduced, ProductRule<T>{y.mutable_data<T>()});
  });
  record("prod", {&x}, y, [&] { return ProdVjp{save_input(x, "x"), reduced.kept, k}; });
  return y;
}

Tensor cumsum(const Tensor& x, std::int64_t axis) {
  check_numeric("cumsum", "x", x);
  const int k = normalize_axis("cumsum", axis, x.rank());
  if (x.rank() == 0) return reshape(cumsum(reshape(x, {1}), 0), {});
  Tensor y = transpose(scanned({}, transpose(x.detach(), k, -1)), k, -1);
  record("cumsum", {&x}, y, [&] { return CumsumVjp{k}; });
  return y;
}

Tensor cumprod(const Tensor& x, std::int64_t axis) {
  check_numeric("cumprod", "x", x);
  const int k = normalize_axis("cumprod", axis, x.rank());
  if (x.rank() == 0) return reshape(cumprod(reshape(x, {1}), 0), {});
  if (x.numel() == 0) return mul(x, 1);
  const Tensor lines = transpose(x, k, -1);
  Shape none = Shape::filled(x.rank(), 0);
  Shape behind = none;
  behind[x.rank() - 1] = lines.size(-1) - 1;
  const Tensor first = pad(narrow(lines, -1, 0, 1), none, behind);
  return transpose(linear_scan(lines, first), k, -1);
}

}  // namespace heed
