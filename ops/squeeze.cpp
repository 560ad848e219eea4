#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

struct SqueezeVjp {
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x without the axis
    context.set(0, unsqueeze(context.cotangent(), axis));
  }
};

struct UnsqueezeVjp {
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x with the axis
    context.set(0, squeeze(context.cotangent(), axis));
  }
};

}  // namespace

Tensor squeeze(const Tensor& x, std::int64_t axis) {
  check_defined("squeeze", "x", x);
  const int k = normalize_axis("squeeze", axis, x.rank());
  if (x.rank() == 0) return x;
  Tensor y = view_of(x, squeeze_view("squeeze", x.view(), k));
  record("squeeze", {&x}, y, [&] { return SqueezeVjp{k}; });
  return y;
}

Tensor unsqueeze(const Tensor& x, std::int64_t axis) {
  check_defined("unsqueeze", "x", x);
  const int k = normalize_axis("unsqueeze", axis, x.rank() + 1);
  Tensor y = view_of(x, unsqueeze_view("unsqueeze", x.view(), k));
  record("unsqueeze", {&x}, y, [&] { return UnsqueezeVjp{k}; });
  return y;
}

}  // namespace heed
