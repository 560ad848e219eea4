#include <algorithm>
#include <type_traits>
#include <vector>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/cast.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/index_rows.h>

namespace heed::detail {
namespace {

// A view of what lies at position 0 of an axis.
View row_view(const View& view, int axis) {
  View row = view;
  row.shape.erase(axis);
  row.strides.erase(axis);
  row.numel = element_count(row.shape);
  return row;
}

struct TakeRowsVjp {
  SavedTensor indices;
  int axis = 0;
  std::int64_t size = 0;
  void vjp(VjpContext& context) const {  // y[i] = x[indices[i]]
    context.set(0, sum_rows(context.cotangent(), axis, context.unpack(indices), size));
  }
};

struct SumRowsVjp {
  SavedTensor indices;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y[indices[i]] += source[i]
    context.set(0, take_rows("index_select", context.cotangent(), axis, context.unpack(indices)));
  }
};

template <class T>
void copy_rows(const Tensor& x, int axis, const Tensor& indices, Tensor& y) {
  const View to_row = row_view(y.view(), axis);
  const View from_row = row_view(x.view(), axis);
  const StridedLoop<2> row({&to_row, &from_row});
  const std::int64_t* index = indices.data<std::int64_t>();
  const T* from = x.data<T>() - x.offset();
  T* to = y.mutable_data<T>();
  const std::int64_t grain =
      std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(row.numel(), 1));
  parallel_for(indices.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* source = from + index[i] * x.strides()[axis];
      T* target = to + i * y.strides()[axis];
      row.run(0, row.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
        if (step[0] == 1 && step[1] == 1) {
          std::copy_n(source + at[1], count, target + at[0]);
        } else {
          for (std::int64_t k = 0; k < count; ++k) target[at[0] + k * step[0]] = source[at[1] + k * step[1]];
        }
      });
    }
  });
}

// Positions i of the indices grouped by value, in order within a group: those of v are
// order[first[v]] … order[first[v+1]−1].
struct Groups {
  std::vector<std::int64_t> first, order;
};

Groups group(const Tensor& indices, std::int64_t size) {
  const std::int64_t n = indices.numel();
  const std::int64_t* index = indices.data<std::int64_t>();
  Groups groups{std::vector<std::int64_t>(static_cast<std::size_t>(size) + 1, 0),
                std::vector<std::int64_t>(static_cast<std::size_t>(n))};
  for (std::int64_t i = 0; i < n; ++i) ++groups.first[static_cast<std::size_t>(index[i]) + 1];
  for (std::size_t v = 0; v + 1 < groups.first.size(); ++v) groups.first[v + 1] += groups.first[v];
  std::vector<std::int64_t> next = groups.first;
  for (std::int64_t i = 0; i < n; ++i) {
    groups.order[static_cast<std::size_t>(next[static_cast<std::size_t>(index[i])]++)] = i;
  }
  return groups;
}

// y, which holds zeros: y[v] = Σ source[i] over the group of v, a block of the row at a time.
template <class T>
void add_rows(const Tensor& source, int axis, const Groups& groups, Tensor& y) {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  constexpr std::int64_t width = 512;  // accumulators that stay in the first cache
  constexpr std::int64_t chunks = 64;
  const View to_row = row_view(y.view(), axis);
  const View from_row = row_view(source.view(), axis);
  const StridedLoop<1> to_loop({&to_row});
  const StridedLoop<1> from_loop({&from_row});
  const T* from = source.data<T>() - source.offset();
  T* to = y.mutable_data<T>();
  const std::int64_t size = y.shape()[axis];
  parallel_for(size, (size + chunks - 1) / chunks, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Acc> acc(static_cast<std::size_t>(std::min(width, to_row.numel)));
    for (std::int64_t v = begin; v < end; ++v) {
      const auto first = static_cast<std::size_t>(groups.first[static_cast<std::size_t>(v)]);
      const auto last = static_cast<std::size_t>(groups.first[static_cast<std::size_t>(v) + 1]);
      if (first == last) continue;
      for (std::int64_t column = 0; column < to_row.numel; column += width) {
        const std::int64_t stop = std::min(column + width, to_row.numel);
        std::fill(acc.begin(), acc.end(), Acc(0));
        for (std::size_t k = first; k < last; ++k) {
          const T* in = from + groups.order[k] * source.strides()[axis];
          Acc* out = acc.data();
          from_loop.run(column, stop, [&](const auto& at, const auto& step, std::int64_t count) {
            for (std::int64_t j = 0; j < count; ++j) *out++ += static_cast<Acc>(in[at[0] + j * step[0]]);
          });
        }
        T* target = to + v * y.strides()[axis];
        const Acc* sum = acc.data();
        to_loop.run(column, stop, [&](const auto& at, const auto& step, std::int64_t count) {
          for (std::int64_t j = 0; j < count; ++j) target[at[0] + j * step[0]] = static_cast<T>(*sum++);
        });
      }
    }
  });
}

}  // namespace

Tensor checked_indices(std::string_view op, const Tensor& indices, std::int64_t bound) {
  check_indices(op, "index", indices, bound);
  return contiguous(cast(indices, DType::i64));
}

Tensor take_rows(const char* op, const Tensor& x, int axis, const Tensor& indices) {
  Shape shape = x.shape();
  shape[axis] = indices.numel();
  Tensor y = empty(shape, x.dtype());
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) { copy_rows<T>(x, axis, indices, y); });
  record(op, {&x}, y, [&] { return TakeRowsVjp{save_input(indices, "indices"), axis, x.shape()[axis]}; });
  return y;
}

Tensor sum_rows(const Tensor& source, int axis, const Tensor& indices, std::int64_t size) {
  Shape shape = source.shape();
  shape[axis] = size;
  Tensor y = zeros(shape, source.dtype());
  const Groups groups = group(indices, size);
  visit_numeric(source.dtype(),
                [&]<class T>(std::type_identity<T>) { add_rows<T>(source, axis, groups, y); });
  record("sum_rows", {&source}, y, [&] { return SumRowsVjp{save_input(indices, "indices"), axis}; });
  return y;
}

}  // namespace heed::detail
