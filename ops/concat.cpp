#include <limits>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/ops/concat.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t most_parts = std::numeric_limits<int>::max();  // the tape numbers results by int

// The part of a view that begins at `start` of an axis.
View part_view(const View& view, int axis, std::int64_t start, std::int64_t size) {
  View part = view;
  part.shape[axis] = size;
  part.numel = element_count(part.shape);
  if (part.numel > 0) part.offset += start * view.strides[axis];
  return part;
}

struct ConcatVjp {
  Sizes sizes;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x_0, x_1, … along the axis
    std::vector<Tensor> parts = split(context.cotangent(), sizes, axis);
    for (std::size_t i = 0; i < parts.size(); ++i) context.set(static_cast<int>(i), std::move(parts[i]));
  }
};

struct SplitVjp {
  int count = 0;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y_i = part i of x
    std::vector<Tensor> cotangents;
    cotangents.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) cotangents.push_back(context.cotangent(i));
    context.set(0, concat(cotangents, axis));
  }
};

void check_tensors(const char* op, std::span<const Tensor> tensors) {
  if (tensors.empty()) fail<ValueError>(op, "no tensors", {}, "one tensor or more");
  check_defined(op, "tensors[0]", tensors[0]);
}

// Shape of the result; every tensor agrees with the first but along the axis.
Shape joined_shape(std::span<const Tensor> tensors, int axis) {
  const Tensor& first = tensors[0];
  Shape shape = first.shape();
  shape[axis] = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    bool same = x.defined() && x.dtype() == first.dtype() && x.rank() == first.rank();
    for (int k = 0; same && k < shape.rank(); ++k) same = k == axis || x.shape()[k] == shape[k];
    if (!same) {
      const std::string name = fmt::format("tensors[{}]", i);
      check_same_dtype("concat", "tensors[0]", first, name, x);
      fail<ShapeError>(
          "concat", "shapes differ",
          fmt::format("tensors[0] is {} and {} is {}", first.shape().str(), name, x.shape().str()),
          fmt::format("equal sizes but along axis {}", axis));
    }
    shape[axis] = checked_add("concat", "the size of the result", shape[axis], x.shape()[axis]);
  }
  return shape;
}

}  // namespace

Tensor concat(std::span<const Tensor> tensors, std::int64_t axis) {
  check_tensors("concat", tensors);
  check_rank("concat", "tensors[0]", tensors[0], 1);
  const int k = normalize_axis("concat", axis, tensors[0].rank());
  Tensor y = empty(joined_shape(tensors, k), tensors[0].dtype());
  std::int64_t start = 0;
  for (const Tensor& x : tensors) {
    Tensor target = view_of(y, part_view(y.view(), k, start, x.shape()[k]));
    copy_elements(x, target);
    start += x.shape()[k];
  }
  record("concat", tensors, y, [&] {
    Sizes sizes;
    for (const Tensor& x : tensors) sizes.push_back(x.shape()[k]);
    return ConcatVjp{std::move(sizes), k};
  });
  return y;
}

Tensor concat(std::initializer_list<Tensor> tensors, std::int64_t axis) {
  return concat(std::span(tensors.begin(), tensors.size()), axis);
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t axis) {
  check_tensors("stack", tensors);
  const int k = normalize_axis("stack", axis, tensors[0].rank() + 1);
  std::vector<Tensor> columns;
  columns.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = fmt::format("tensors[{}]", i);
    check_same_dtype("stack", "tensors[0]", tensors[0], name, tensors[i]);
    check_same_shape("stack", "tensors[0]", tensors[0], name, tensors[i]);
    columns.push_back(unsqueeze(tensors[i], k));
  }
  return concat(columns, k);
}

Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t axis) {
  return stack(std::span(tensors.begin(), tensors.size()), axis);
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t axis) {
  check_rank("split", "x", x, 1);
  check_value(size >= 1, "split", "size", size, "size >= 1");
  const std::int64_t n = x.shape()[normalize_axis("split", axis, x.rank())];
  check_value(n / size <= most_parts, "split", "size", size, "a size that gives fewer than 2^31 parts");
  Sizes sizes(static_cast<std::size_t>(n / size), size);
  if (n % size != 0 || n == 0) sizes.push_back(n % size);
  return split(x, sizes, axis);
}

std::vector<Tensor> split(const Tensor& x, const Sizes& sizes, std::int64_t axis) {
  check_rank("split", "x", x, 1);
  const int k = normalize_axis("split", axis, x.rank());
  for (const std::int64_t size : sizes) check_value(size >= 0, "split", "size", size, "size >= 0");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total = checked_add("split", "the sum of sizes", total, size);
  if (total != x.shape()[k] || sizes.empty()) {
    fail<ShapeError>("split", "sizes do not add up",
                     fmt::format("their sum is {} on axis {} of {}", total, k, x.shape().str()),
                     fmt::format("a sum of {}", x.shape()[k]));
  }
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(view_of(x, part_view(x.view(), k, start, size)));
    start += size;
  }
  std::vector<Tensor*> outputs;
  outputs.reserve(parts.size());
  for (Tensor& part : parts) outputs.push_back(&part);
  const Tensor* const inputs[] = {&x};
  detail::record_spans("split", inputs, outputs, [&] { return SplitVjp{static_cast<int>(sizes.size()), k}; });
  return parts;
}

}  // namespace heed
