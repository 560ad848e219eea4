#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/ops/reduce.h>

namespace heed::detail {
namespace {

// The stride, without its sign, of the last axis that is longer than 1; 0 if there is no such axis.
std::int64_t last_step(const View& view) {
  for (int k = view.shape.rank() - 1; k >= 0; --k) {
    if (view.shape[k] > 1) return view.strides[k] < 0 ? -view.strides[k] : view.strides[k];
  }
  return 0;
}

// `goes(k)`: whether axis k of x is reduced.
template <class Goes>
ReduceAxes split_axes(const Tensor& x, Goes&& goes) {
  ReduceAxes result;
  result.outer.offset = x.offset();
  result.kept = x.shape();
  for (int k = 0; k < x.rank(); ++k) {
    const bool reduced = goes(k);
    View& view = reduced ? result.inner : result.outer;
    view.shape.push_back(x.shape()[k]);
    view.strides.push_back(x.strides()[k]);
    if (reduced) result.kept[k] = 1;
  }
  result.outer.numel = element_count(result.outer.shape);
  result.inner.numel = element_count(result.inner.shape);
  return result;
}

}  // namespace

ReduceAxes reduce_axes(std::string_view op, const Tensor& x, const Shape& axes) {
  unsigned gone = 0;
  for (const std::int64_t axis : axes) {
    const int k = normalize_axis(op, axis, x.rank());
    if ((gone & (1u << k)) != 0) {
      fail<ValueError>(op, "an axis is given twice", fmt::format("axes are {}", axes.str()),
                       "different axes");
    }
    gone |= 1u << k;
  }
  if (axes.empty()) gone = ~0u;
  return split_axes(x, [gone](int k) { return (gone & (1u << k)) != 0; });
}

ReduceAxes repeated_axes(const Tensor& x, const Shape& shape) {
  const int leading = x.rank() - shape.rank();
  return split_axes(x, [&](int k) { return k < leading || shape[k - leading] != x.shape()[k]; });
}

void check_not_empty(std::string_view op, const Tensor& x, const ReduceAxes& axes) {
  if (axes.inner.numel > 0 || axes.outer.numel == 0) return;
  fail<ValueError>(op, "nothing to reduce, and no value to give for it",
                   fmt::format("x is {}", x.shape().str()), "one element or more along the reduced axes");
}

ReduceBlocks reduce_blocks(const ReduceAxes& axes) {
  constexpr std::int64_t most_parts = 64;      // partial results of one output
  constexpr std::int64_t most_columns = 1024;  // accumulators that stay in the first cache
  const std::int64_t outputs = std::max<std::int64_t>(axes.outer.numel, 1);
  const std::int64_t elements = std::max<std::int64_t>(axes.inner.numel, 1);
  const bool by_column = outputs > 1 && last_step(axes.outer) < last_step(axes.inner);
  ReduceBlocks block{by_column, std::min(outputs, most_columns), elements};
  if (!by_column) {
    block.outputs = std::max<std::int64_t>(1, elementwise_grain / elements);
    block.outputs = std::min(block.outputs, outputs);
  }
  const std::int64_t across = (outputs + block.outputs - 1) / block.outputs;
  if (across < most_parts) {
    const std::int64_t fair = (elements + most_parts - 1) / most_parts;
    block.elements = std::min(elements, std::max(elementwise_grain / block.outputs, fair));
  }
  return block;
}

}  // namespace heed::detail
