#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/gather.h>
#include <heed/ops/index_rows.h>
#include <heed/ops/reshape.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

// Calls body(offsets) for every line along `axis` of an index tensor's shape: where the line begins in each
// of the views.
template <class Body>
void for_lines(const Shape& shape, int axis, const std::array<const View*, 3>& views, Body&& body) {
  std::array<View, 3> lines;
  for (std::size_t t = 0; t < 3; ++t) {
    lines[t] = {shape, views[t]->strides, views[t]->offset, 0};
    lines[t].shape.erase(axis);
    lines[t].strides.erase(axis);
    lines[t].numel = element_count(lines[t].shape);
  }
  const StridedLoop<3> loop({&lines[0], &lines[1], &lines[2]});
  const std::int64_t grain =
      std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(shape[axis], 1));
  loop.run_parallel(
      [&](const auto& at, const auto& step, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          body(std::array{at[0] + i * step[0], at[1] + i * step[1], at[2] + i * step[2]});
        }
      },
      grain);
}

// Checks rank and sizes. Returns the axis, counted from 0.
int check_lines(const char* op, const Tensor& x, std::int64_t axis, const Tensor& indices) {
  check_rank(op, "x", x, 1);
  check_defined(op, "indices", indices);
  const int k = normalize_axis(op, axis, x.rank());
  bool fits = indices.rank() == x.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == k || indices.shape()[d] <= x.shape()[d];
  if (!fits) {
    fail<ShapeError>(op, "indices do not fit x",
                     fmt::format("indices is {} and x is {}", indices.shape().str(), x.shape().str()),
                     fmt::format("the same rank and, but along axis {}, no larger sizes", k));
  }
  return k;
}

struct GatherVjp {
  SavedTensor indices;
  Shape shape;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y[i] = x[indices[i]]
    const Tensor& dy = context.cotangent();
    context.set(0, scatter_add(zeros(shape, dy.dtype()), axis, context.unpack(indices), dy));
  }
};

struct ScatterVjp {
  SavedTensor indices;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x; y[indices[i]] = source[i]
    const Tensor& dy = context.cotangent();
    const Tensor at = context.unpack(indices);
    if (context.needs(0)) context.set(0, scatter(dy, axis, at, zeros(at.shape(), dy.dtype())));
    if (context.needs(1)) {
      // Each write leaves its number; those still found are the last ones.
      const Tensor number = reshape(arange(0, at.numel()), at.shape());
      const Tensor last = gather(scatter(zeros(dy.shape(), DType::i64), axis, at, number), axis, at);
      context.set(1, where(eq(last, number), gather(dy, axis, at), 0));
    }
  }
};

struct ScatterAddVjp {
  SavedTensor indices;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x; y[indices[i]] += source[i]
    context.set(0, context.cotangent());
    if (context.needs(1)) context.set(1, gather(context.cotangent(), axis, context.unpack(indices)));
  }
};

// Writes source into y through the indices by put(T& element, T value).
template <class T, class Put>
void scatter_into(Tensor& y, int axis, const Tensor& indices, const Tensor& source, Put&& put) {
  const std::int64_t* index = indices.data<std::int64_t>() - indices.offset();
  const T* from = source.data<T>() - source.offset();
  T* to = y.mutable_data<T>() - y.offset();
  const std::int64_t n = indices.shape()[axis];
  for_lines(indices.shape(), axis, {&y.view(), &indices.view(), &source.view()}, [&](const auto& at) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = index[at[1] + i * indices.strides()[axis]];
      put(to[at[0] + row * y.strides()[axis]], from[at[2] + i * source.strides()[axis]]);
    }
  });
}

struct Scattering {
  Tensor y, indices;
  int axis;
};

Scattering prepare_scatter(const char* op, const Tensor& x, std::int64_t axis, const Tensor& indices,
                           const Tensor& source) {
  const int k = check_lines(op, x, axis, indices);
  check_same_dtype(op, "x", x, "source", source);
  check_shape(op, "source", source, indices.shape(), "the shape of indices");
  const Tensor at = detail::checked_indices(op, indices, x.shape()[k]);
  return {copy_of(x), at, k};
}

}  // namespace

Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& indices) {
  const int k = check_lines("gather", x, axis, indices);
  const Tensor at = detail::checked_indices("gather", indices, x.shape()[k]);
  Tensor y = empty(indices.shape(), x.dtype());
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::int64_t* index = at.data<std::int64_t>() - at.offset();
    const T* from = x.data<T>() - x.offset();
    T* to = y.mutable_data<T>();
    const std::int64_t n = at.shape()[k];
    for_lines(at.shape(), k, {&x.view(), &at.view(), &y.view()}, [&](const auto& line) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = index[line[1] + i * at.strides()[k]];
        to[line[2] + i * y.strides()[k]] = from[line[0] + row * x.strides()[k]];
      }
    });
  });
  record("gather", {&x}, y, [&] { return GatherVjp{save_input(at, "indices"), x.shape(), k}; });
  return y;
}

Tensor scatter(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source) {
  Scattering s = prepare_scatter("scatter", x, axis, indices, source);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    scatter_into<T>(s.y, s.axis, s.indices, source, [](T& element, T value) { element = value; });
  });
  record("scatter", {&x, &source}, s.y, [&] { return ScatterVjp{save_input(s.indices, "indices"), s.axis}; });
  return s.y;
}

Tensor scatter_add(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source) {
  check_numeric("scatter_add", "x", x);
  Scattering s = prepare_scatter("scatter_add", x, axis, indices, source);
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    scatter_into<T>(s.y, s.axis, s.indices, source, [](T& element, T value) {
      using Sum = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;  // integers wrap
      element = static_cast<T>(static_cast<Sum>(element) + static_cast<Sum>(value));
    });
  });
  record("scatter_add", {&x, &source}, s.y, [&] {
    return ScatterAddVjp{save_input(s.indices, "indices"), s.axis};
  });
  return s.y;
}

Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& indices) {
  check_rank("index_select", "x", x, 1);
  check_rank("index_select", "indices", indices, 1, 1);
  const int k = normalize_axis("index_select", axis, x.rank());
  return detail::take_rows("index_select", x, k,
                           detail::checked_indices("index_select", indices, x.shape()[k]));
}

Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& indices, const Tensor& source) {
  check_numeric("index_add", "x", x);
  check_rank("index_add", "x", x, 1);
  check_rank("index_add", "indices", indices, 1, 1);
  check_same_dtype("index_add", "x", x, "source", source);
  const int k = normalize_axis("index_add", axis, x.rank());
  Shape shape = x.shape();
  shape[k] = indices.numel();
  check_shape("index_add", "source", source, shape, "the shape of x with one row for each index");
  const Tensor at = detail::checked_indices("index_add", indices, x.shape()[k]);
  return add(x, detail::sum_rows(source, k, at, x.shape()[k]));
}

Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype) {
  check_value(classes >= 0, "one_hot", "classes", classes, "classes >= 0");
  const Tensor at = detail::checked_indices("one_hot", indices, classes);
  Shape shape = indices.shape();
  shape.push_back(classes);
  Tensor y = zeros(shape, dtype);
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    T* out = y.mutable_data<T>();
    const std::int64_t* index = at.data<std::int64_t>();
    for (std::int64_t i = 0; i < at.numel(); ++i) out[i * classes + index[i]] = T(1);
  });
  return y;
}

}  // namespace heed
