#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

// `count` positions of an axis of size `shape[axis]`: first, first + step, …
struct Positions {
  Shape shape;
  int axis = 0;
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

View taken_view(const View& view, const Positions& p) {
  View result = view;
  result.shape[p.axis] = p.count;
  result.numel = element_count(result.shape);
  if (p.count > 0) result.offset += p.first * view.strides[p.axis];
  if (p.count > 1) result.strides[p.axis] *= p.step;
  return result;
}

Tensor take(const char* op, const Tensor& x, const Positions& p);

struct PlaceVjp {
  Positions positions;
  void vjp(VjpContext& context) const {  // y = zeros with x at the positions
    context.set(0, take("slice", context.cotangent(), positions));
  }
};

// Zeros of positions.shape with x at the positions: the transpose of `take`.
Tensor place(const Tensor& x, const Positions& p) {
  Tensor y = zeros(p.shape, x.dtype());
  Tensor target = view_of(y, taken_view(y.view(), p));
  copy_elements(x, target);
  record("place", {&x}, y, [&] { return PlaceVjp{p}; });
  return y;
}

struct TakeVjp {
  Positions positions;
  void vjp(VjpContext& context) const {  // y = x at the positions
    context.set(0, place(context.cotangent(), positions));
  }
};

Tensor take(const char* op, const Tensor& x, const Positions& p) {
  Tensor y = view_of(x, taken_view(x.view(), p));
  record(op, {&x}, y, [&] { return TakeVjp{p}; });
  return y;
}

struct FlipVjp {
  Shape axes;
  void vjp(VjpContext& context) const {  // y = x reversed along the axes
    context.set(0, flip(context.cotangent(), axes));
  }
};

}  // namespace

Tensor slice(const Tensor& x, std::int64_t axis, std::optional<std::int64_t> start,
             std::optional<std::int64_t> stop, std::int64_t step) {
  check_defined("slice", "x", x);
  const int k = normalize_axis("slice", axis, x.rank());
  // Slicing the numbers 0, 1, 2, … of the axis gives the first position and the count.
  View ramp{x.shape(), Strides::filled(x.rank(), 0), 0, x.numel()};
  if (x.rank() > 0) ramp.strides[k] = 1;
  const View taken = slice_view("slice", ramp, k, start, stop, step);
  return take("slice", x, {x.shape(), k, taken.offset, step, taken.shape[k]});
}

Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index) {
  check_defined("select", "x", x);
  const int k = normalize_axis("select", axis, x.rank());
  select_view("select", x.view(), k, index);
  const std::int64_t first = index < 0 ? index + x.shape()[k] : index;
  return squeeze(take("select", x, {x.shape(), k, first, 1, 1}), k);
}

Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  check_rank("narrow", "x", x, 1);
  const int k = normalize_axis("narrow", axis, x.rank());
  const std::int64_t n = x.shape()[k];
  if (start < 0 || length < 0 || start > n || length > n - start) {
    fail<IndexError>(
        "narrow", "positions out of range",
        fmt::format("start is {} and length is {} on axis {} of {}", start, length, k, x.shape().str()),
        fmt::format("0 <= start <= start + length <= {}", n));
  }
  return take("narrow", x, {x.shape(), k, start, 1, length});
}

Tensor flip(const Tensor& x, const Shape& axes) {
  check_defined("flip", "x", x);
  View view = x.view();
  unsigned seen = 0;
  for (const std::int64_t axis : axes) {
    const int k = normalize_axis("flip", axis, x.rank());
    if ((seen & (1u << k)) != 0) {
      fail<ValueError>("flip", "an axis is given twice", fmt::format("axes are {}", axes.str()),
                       "different axes");
    }
    seen |= 1u << k;
    if (x.rank() == 0 || view.shape[k] < 2) continue;
    view.offset += (view.shape[k] - 1) * view.strides[k];
    view.strides[k] = -view.strides[k];
  }
  Tensor y = view_of(x, std::move(view));
  record("flip", {&x}, y, [&] { return FlipVjp{axes}; });
  return y;
}

}  // namespace heed
