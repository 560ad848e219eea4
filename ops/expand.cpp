#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/expand.h>
#include <heed/ops/reduce.h>

namespace heed {
namespace {

struct ExpandVjp {
  Shape shape;  // of x
  void vjp(VjpContext& context) const { context.set(0, sum_to(context.cotangent(), shape)); }
};

struct SumToVjp {
  Shape shape;  // of x
  void vjp(VjpContext& context) const { context.set(0, expand(context.cotangent(), shape)); }
};

}  // namespace

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined("expand", "x", x);
  if (x.shape() == shape) return x;
  Tensor y = view_of(x, expand_view("expand", x.view(), shape));
  record("expand", {&x}, y, [&] { return ExpandVjp{x.shape()}; });
  return y;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check_numeric("sum_to", "x", x);
  if (x.shape() == shape) return x;
  if (!can_expand(shape, x.shape())) {
    fail<ShapeError>("sum_to", "shape does not expand to x's",
                     "x is " + x.shape().str() + " and the shape is " + shape.str(),
                     "sizes equal or 1, aligned at the last axis");
  }
  Tensor y = empty(shape, x.dtype());
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, detail::repeated_axes(x, shape), detail::SumRule<T>{y.mutable_data<T>()});
  });
  record("sum_to", {&x}, y, [&] { return SumToVjp{x.shape()}; });
  return y;
}

}  // namespace heed
