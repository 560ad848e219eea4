#include <utility>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/transpose.h>

namespace heed {
namespace {

struct PermuteVjp {
  Shape inverse;
  void vjp(VjpContext& context) const {  // y axis k = x axis axes[k]
    context.set(0, permute(context.cotangent(), inverse));
  }
};

Tensor permuted(const char* op, const Tensor& x, const Shape& axes) {
  Tensor y = view_of(x, permute_view(op, x.view(), axes));
  record(op, {&x}, y, [&] {
    Shape inverse = axes;
    for (int k = 0; k < axes.rank(); ++k) inverse[normalize_axis(op, axes[k], x.rank())] = k;
    return PermuteVjp{inverse};
  });
  return y;
}

}  // namespace

Tensor transpose(const Tensor& x, std::int64_t axis_a, std::int64_t axis_b) {
  check_defined("transpose", "x", x);
  const int a = normalize_axis("transpose", axis_a, x.rank());
  const int b = normalize_axis("transpose", axis_b, x.rank());
  Shape axes = Shape::filled(x.rank(), 0);
  for (int k = 0; k < x.rank(); ++k) axes[k] = k;
  if (x.rank() > 0) std::swap(axes[a], axes[b]);
  return permuted("transpose", x, axes);
}

Tensor permute(const Tensor& x, const Shape& axes) {
  check_defined("permute", "x", x);
  return permuted("permute", x, axes);
}

}  // namespace heed
