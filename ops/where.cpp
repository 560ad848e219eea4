#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/expand.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Operands of one shape.
Tensor choose(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Tensor y = empty(a.shape(), a.dtype());
  visit_dtype(a.dtype(), [&]<class T>(std::type_identity<T>) {
    T* to = y.mutable_data<T>();
    const bool* c = condition.data<bool>() - condition.offset();
    const T* pa = a.data<T>() - a.offset();
    const T* pb = b.data<T>() - b.offset();
    const StridedLoop<4> loop({&y.view(), &condition.view(), &a.view(), &b.view()});
    loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        to[at[0] + i] = c[at[1] + i * step[1]] ? pa[at[2] + i * step[2]] : pb[at[3] + i * step[3]];
      }
    });
  });
  return y;
}

struct WhereVjp {
  SavedTensor condition;
  void vjp(VjpContext& context) const {  // y = condition ? a : b
    const Tensor& dy = context.cotangent();
    if (context.needs(0)) context.set(0, where(context.unpack(condition), dy, 0));
    if (context.needs(1)) context.set(1, where(context.unpack(condition), 0, dy));
  }
};

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_dtype("where", "condition", condition, {DType::boolean});
  check_same_dtype("where", "a", a, "b", b);
  const Shape shape =
      broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const auto widen = [&](const Tensor& x) { return x.shape() == shape ? x : expand(x, shape); };
  const Tensor c = widen(condition);
  const Tensor x = widen(a);
  const Tensor z = widen(b);
  Tensor y = choose(c, x, z);
  record("where", {&x, &z}, y, [&] { return WhereVjp{save_input(c, "condition")}; });
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, detail::scalar_like("where", a, b));
}
Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return where(condition, detail::scalar_like("where", b, a), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  check_defined("masked_fill", "x", x);
  check_dtype("masked_fill", "mask", mask, {DType::boolean});
  check_expands("masked_fill", "mask", mask, x.shape());
  return where(mask, detail::scalar_like("masked_fill", x, value), x);
}

}  // namespace heed
