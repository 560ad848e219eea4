#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/pad.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

struct PadVjp {
  Shape before, shape;
  void vjp(VjpContext& context) const {  // y = x with a border
    Tensor dx = context.cotangent();
    for (int k = 0; k < shape.rank(); ++k) dx = narrow(dx, k, before[k], shape[k]);
    context.set(0, dx);
  }
};

void check_entries(const char* op, const char* name, const Tensor& x, const Shape& entries) {
  if (entries.rank() != x.rank()) {
    fail<ShapeError>(op, fmt::format("{} has the wrong number of entries", name),
                     fmt::format("{} is {} and x is {}", name, entries.str(), x.shape().str()),
                     "one entry for each axis");
  }
  for (const std::int64_t entry : entries) check_value(entry >= 0, op, name, entry, "no negative entry");
}

// Axis k of x [.., n, ..] becomes count copies: whole ones, or of each element in turn.
Tensor copies(const char* op, const Tensor& x, std::int64_t count, int k, bool interleave) {
  if (count == 1) return x;
  const int copy_axis = interleave ? k + 1 : k;
  Shape shape = x.shape();
  shape.insert(copy_axis, count);
  const Tensor repeated = expand(unsqueeze(x, copy_axis), shape);
  shape.erase(copy_axis);
  shape[k] = checked_mul(op, "the size of the result", shape[k], count);
  return reshape(repeated, shape);
}

}  // namespace

Tensor pad(const Tensor& x, const Shape& before, const Shape& after, Scalar value) {
  check_defined("pad", "x", x);
  check_entries("pad", "before", x, before);
  check_entries("pad", "after", x, after);
  Shape shape = x.shape();
  for (int k = 0; k < shape.rank(); ++k) {
    const std::int64_t border = checked_add("pad", "the border", before[k], after[k]);
    shape[k] = checked_add("pad", "the size of the result", shape[k], border);
  }
  Tensor y = full(shape, value, x.dtype());
  View inside{x.shape(), y.strides(), 0, x.numel()};
  if (x.numel() > 0) {
    for (int k = 0; k < shape.rank(); ++k) inside.offset += before[k] * y.strides()[k];
  }
  Tensor target = view_of(y, std::move(inside));
  copy_elements(x, target);
  record("pad", {&x}, y, [&] { return PadVjp{before, x.shape()}; });
  return y;
}

Tensor roll(const Tensor& x, const Shape& shifts, const Shape& axes) {
  check_defined("roll", "x", x);
  if (shifts.rank() != axes.rank()) {
    fail<ShapeError>("roll", "numbers of shifts and axes differ",
                     fmt::format("shifts are {} and axes are {}", shifts.str(), axes.str()),
                     "one shift for each axis");
  }
  Tensor y = x;
  for (int i = 0; i < axes.rank(); ++i) {
    const int k = normalize_axis("roll", axes[i], x.rank());
    const std::int64_t n = x.rank() == 0 ? 1 : x.shape()[k];
    if (n < 2 || shifts[i] % n == 0) continue;
    const std::int64_t rest = shifts[i] % n;
    const std::int64_t shift = rest < 0 ? rest + n : rest;
    y = concat({narrow(y, k, n - shift, shift), narrow(y, k, 0, n - shift)}, k);
  }
  return y;
}

Tensor repeat(const Tensor& x, const Shape& counts) {
  check_defined("repeat", "x", x);
  if (counts.rank() < x.rank()) {
    fail<ShapeError>("repeat", "fewer counts than axes",
                     fmt::format("counts are {} and x is {}", counts.str(), x.shape().str()),
                     "one count for each axis, or more");
  }
  for (const std::int64_t count : counts) {
    check_value(count >= 0, "repeat", "counts", count, "no negative entry");
  }
  Tensor y = x;
  while (y.rank() < counts.rank()) y = unsqueeze(y, 0);
  for (int k = 0; k < counts.rank(); ++k) y = copies("repeat", y, counts[k], k, false);
  return y;
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, std::int64_t axis) {
  check_rank("repeat_interleave", "x", x, 1);
  check_value(count >= 0, "repeat_interleave", "count", count, "count >= 0");
  return copies("repeat_interleave", x, count, normalize_axis("repeat_interleave", axis, x.rank()), true);
}

}  // namespace heed
