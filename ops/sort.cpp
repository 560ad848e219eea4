#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/gather.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sort.h>
#include <heed/ops/transpose.h>

namespace heed {
namespace {

struct SortVjp {
  SavedTensor indices;
  Shape shape;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x[indices]
    const Tensor& dy = context.cotangent();
    context.set(0, scatter(zeros(shape, dy.dtype()), axis, context.unpack(indices), dy));
  }
};

// Whether element i of a line comes before element j.
template <class T>
struct Before {
  const T* x;
  bool descending;
  bool operator()(std::int64_t i, std::int64_t j) const {
    const T a = descending ? x[j] : x[i];
    const T b = descending ? x[i] : x[j];
    if (a < b) return true;
    if (b < a) return false;
    if constexpr (std::is_floating_point_v<T>) {
      if ((a != a) != (b != b)) return b != b;
    }
    return i < j;
  }
};

// The first k of the sorted order of each line of a dense x [.., n] → values and indices [.., k].
template <class T>
void sort_lines(const Tensor& x, bool descending, Tensor& values, Tensor& indices) {
  const std::int64_t n = x.size(-1);
  const std::int64_t k = values.size(-1);
  if (values.numel() == 0) return;
  const T* from = x.data<T>();
  T* value = values.mutable_data<T>();
  std::int64_t* index = indices.mutable_data<std::int64_t>();
  parallel_for(x.numel() / n, std::max<std::int64_t>(1, elementwise_grain / 16 / n),
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<std::int64_t> order(static_cast<std::size_t>(n));
                 for (std::int64_t line = begin; line < end; ++line) {
                   const Before<T> before{from + line * n, descending};
                   std::iota(order.begin(), order.end(), std::int64_t{0});
                   std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
                   for (std::int64_t i = 0; i < k; ++i) {
                     index[line * k + i] = order[static_cast<std::size_t>(i)];
                     value[line * k + i] = before.x[order[static_cast<std::size_t>(i)]];
                   }
                 }
               });
}

ValuesIndices first_sorted(const char* op, const Tensor& x, std::int64_t k, int axis, bool descending) {
  const Tensor lines = contiguous(transpose(x.detach(), axis, -1));
  Shape shape = lines.shape();
  shape[shape.rank() - 1] = k;
  Tensor sorted = empty(shape, x.dtype());
  Tensor order = empty(shape, DType::i64);
  visit_numeric(x.dtype(),
                [&]<class T>(std::type_identity<T>) { sort_lines<T>(lines, descending, sorted, order); });
  ValuesIndices result{transpose(sorted, axis, -1), transpose(order, axis, -1)};
  record(op, {&x}, result.values, [&] {
    return SortVjp{save_input(result.indices, "indices"), x.shape(), axis};
  });
  return result;
}

}  // namespace

ValuesIndices sort(const Tensor& x, std::int64_t axis, bool descending) {
  check_numeric("sort", "x", x);
  const int k = normalize_axis("sort", axis, x.rank());
  if (x.rank() == 0) {
    const ValuesIndices line = sort(reshape(x, {1}), 0, descending);
    return {reshape(line.values, {}), reshape(line.indices, {})};
  }
  return first_sorted("sort", x, x.shape()[k], k, descending);
}

ValuesIndices topk(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest) {
  check_numeric("topk", "x", x);
  check_rank("topk", "x", x, 1);
  const int at = normalize_axis("topk", axis, x.rank());
  check_value(k >= 0 && k <= x.shape()[at], "topk", "k", k, "0 <= k <= size of the axis");
  return first_sorted("topk", x, k, at, largest);
}

}  // namespace heed
