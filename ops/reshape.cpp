#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/reshape.h>

namespace heed {
namespace {

struct ReshapeVjp {
  Shape shape;
  void vjp(VjpContext& context) const {  // y = x under another shape
    context.set(0, reshape(context.cotangent(), shape));
  }
};

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", "x", x);
  const Shape full = resolve_reshape("reshape", x.shape(), shape);
  if (full == x.shape()) return x;
  const std::optional<View> view = reshape_view(x.view(), full);
  Tensor y = view ? view_of(x, *view) : view_of(copy_of(x), contiguous_view(full));
  record("reshape", {&x}, y, [&] { return ReshapeVjp{x.shape()}; });
  return y;
}

Tensor flatten(const Tensor& x, std::int64_t first, std::int64_t last) {
  check_defined("flatten", "x", x);
  const int begin = normalize_axis("flatten", first, x.rank());
  const int end = normalize_axis("flatten", last, x.rank());
  if (begin > end) {
    fail<ValueError>("flatten", "axes are out of order",
                     fmt::format("first is {} and last is {}", first, last), "first <= last");
  }
  if (x.rank() == 0) return reshape(x, {1});
  Shape shape;
  for (int k = 0; k < x.rank(); ++k) {
    if (k < begin || k > end) {
      shape.push_back(x.shape()[k]);
    } else {
      if (k == begin) shape.push_back(1);
      shape[begin] = checked_mul("flatten", "the size of the result", shape[begin], x.shape()[k]);
    }
  }
  return reshape(x, shape);
}

}  // namespace heed
