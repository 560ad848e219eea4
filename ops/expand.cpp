#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include <heed/core/check.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/expand.h>

namespace heed {
namespace {

// Integers add modulo 2^64 and are cut to their width at the end.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

constexpr std::int64_t block_columns = 512;

// The reduction as y[k, c] = Σ_r x[kept(k) + reduced(r) + c · step].
struct Plan {
  View kept, reduced;
  std::int64_t columns = 1;
  std::int64_t step = 0;
};

void append_axis(View& view, std::int64_t size, std::int64_t stride) {
  view.shape.push_back(size);
  view.strides.push_back(stride);
}

// `shape` expands to the shape of x. Trailing kept axes that lie evenly become the columns.
Plan plan_for(const View& x, const Shape& shape) {
  Plan plan;
  const int rank = x.shape.rank();
  const auto is_kept = [&](int k) {
    const int j = k - (rank - shape.rank());
    return j >= 0 && shape[j] == x.shape[k];
  };
  int last = rank;
  for (; last > 0 && is_kept(last - 1); --last) {
    if (x.shape[last - 1] == 1) continue;
    if (plan.columns == 1) plan.step = x.strides[last - 1];
    if (x.strides[last - 1] != plan.step * plan.columns) break;
    plan.columns *= x.shape[last - 1];
  }
  for (int k = 0; k < last; ++k) append_axis(is_kept(k) ? plan.kept : plan.reduced, x.shape[k], x.strides[k]);
  plan.kept.numel = element_count(plan.kept.shape);
  plan.reduced.numel = element_count(plan.reduced.shape);
  plan.reduced.offset = x.offset;
  return plan;
}

std::int64_t offset_of(const View& view, std::int64_t index) {
  std::int64_t offset = view.offset;
  for (int k = view.shape.rank() - 1; k >= 0; --k) {
    offset += index % view.shape[k] * view.strides[k];
    index /= view.shape[k];
  }
  return offset;
}

// sum[c] += Σ_r x[r · row_step + c · step]; four rows at a time, so that sum is touched less often.
template <class T>
void add_rows(const T* x, std::int64_t row_step, std::int64_t rows, std::int64_t step, std::int64_t n,
              Sum<T>* sum) {
  using S = Sum<T>;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* a = x + r * row_step;
    const T* b = a + row_step;
    const T* c = b + row_step;
    const T* d = c + row_step;
    if (step == 1) {
      for (std::int64_t i = 0; i < n; ++i) sum[i] += (S(a[i]) + S(b[i])) + (S(c[i]) + S(d[i]));
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        sum[i] += (S(a[i * step]) + S(b[i * step])) + (S(c[i * step]) + S(d[i * step]));
      }
    }
  }
  for (; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i) sum[i] += S(x[r * row_step + i * step]);
  }
}

// Σ_i x[i · step] in eight lanes, which the compiler can keep in vectors.
template <class T>
Sum<T> add_run(const T* x, std::int64_t step, std::int64_t n) {
  using S = Sum<T>;
  std::array<S, 8> lanes{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::int64_t k = 0; k < 8; ++k) lanes[static_cast<std::size_t>(k)] += S(x[(i + k) * step]);
  }
  for (; i < n; ++i) lanes[static_cast<std::size_t>(i % 8)] += S(x[i * step]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Adds rows begin … end−1 of the reduced axes into sum[0 … n−1].
template <class T>
void add_block(const T* x, const Plan& plan, const StridedLoop<1>& rows, std::int64_t begin, std::int64_t end,
               std::int64_t n, Sum<T>* sum) {
  rows.run(begin, end, [&](const auto& at, const auto& step, std::int64_t count) {
    if (plan.columns == 1) {
      *sum += add_run(x + at[0], step[0], count);
    } else {
      add_rows(x + at[0], step[0], count, plan.step, n, sum);
    }
  });
}

// Pieces of at most 512 columns and about elementwise_grain elements are added up in parallel, then the
// pieces of a column in order: the result depends on the shape alone, not on the number of threads.
template <class T>
void sum_elements(const T* x, const Plan& plan, T* y) {
  using S = Sum<T>;
  const std::int64_t width = std::min(plan.columns, block_columns);
  const std::int64_t blocks = (plan.columns + block_columns - 1) / block_columns;
  const std::int64_t rows_each = std::max<std::int64_t>(4, elementwise_grain / width);
  const std::int64_t pieces = (plan.reduced.numel + rows_each - 1) / rows_each;
  const std::int64_t results = plan.kept.numel * plan.columns;
  const StridedLoop<1> rows({&plan.reduced});
  std::vector<S> parts(pieces > 1 ? static_cast<std::size_t>(pieces * results) : 0);
  const std::int64_t grain =
      std::max<std::int64_t>(1, elementwise_grain / (width * std::min(rows_each, plan.reduced.numel)));
  parallel_for(plan.kept.numel * blocks * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<S, block_columns> sum;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t piece = task % pieces;
      const std::int64_t first = task / pieces % blocks * block_columns;
      const std::int64_t k = task / pieces / blocks;
      const std::int64_t n = std::min(block_columns, plan.columns - first);
      std::fill_n(sum.begin(), n, S{});
      add_block(x + offset_of(plan.kept, k) + first * plan.step, plan, rows, piece * rows_each,
                std::min((piece + 1) * rows_each, plan.reduced.numel), n, sum.data());
      const std::int64_t at = k * plan.columns + first;
      if (pieces > 1) {
        std::copy_n(sum.begin(), n, parts.begin() + piece * results + at);
      } else {
        std::transform(sum.begin(), sum.begin() + n, y + at, [](S s) { return static_cast<T>(s); });
      }
    }
  });
  if (pieces == 1) return;
  parallel_for(results, std::max<std::int64_t>(1, elementwise_grain / pieces), [&](auto begin, auto end) {
    for (std::int64_t i = begin; i < end; ++i) {
      S sum{};
      for (std::int64_t p = 0; p < pieces; ++p) sum += parts[static_cast<std::size_t>(p * results + i)];
      y[i] = static_cast<T>(sum);
    }
  });
}

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
  if (x.numel() == 0) {
    y.fill_(0);
  } else {
    const Plan plan = plan_for(x.view(), shape);
    visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
      sum_elements(x.data<T>() - x.offset(), plan, y.mutable_data<T>());
    });
  }
  record("sum_to", {&x}, y, [&] { return SumToVjp{x.shape()}; });
  return y;
}

}  // namespace heed
