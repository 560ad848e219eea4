#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/extremum.h>
#include <heed/ops/gather.h>
#include <heed/ops/reduce.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>

namespace heed {
namespace {

// Whether a takes the place of b. NaN takes the place of every number and keeps it.
template <bool largest, class T>
bool beats(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b != b) return false;
    if (a != a) return true;
  }
  return largest ? a > b : a < b;
}

// The extremum and the first position that has it.
template <class T, bool largest>
struct ExtremumRule {
  struct Acc {
    T value;
    std::int64_t position;  // −1: nothing yet
  };
  T* values;  // either may be null
  std::int64_t* positions;

  Acc start(std::int64_t) const { return {T(0), -1}; }
  void add(Acc& acc, T value, std::int64_t position) const {
    if (acc.position < 0 || beats<largest>(value, acc.value)) acc = {value, position};
  }
  void join(Acc& acc, const Acc& later) const {
    if (later.position < 0) return;
    const bool earlier = later.position < acc.position && !beats<largest>(acc.value, later.value);
    if (acc.position < 0 || earlier || beats<largest>(later.value, acc.value)) acc = later;
  }
  void finish(const Acc& acc, std::int64_t output) const {
    if (values != nullptr) values[output] = acc.value;
    if (positions != nullptr) positions[output] = acc.position;
  }
};

struct Found {
  Tensor values, positions;
};

template <bool largest>
Found find(const char* op, const Tensor& x, const detail::ReduceAxes& axes, bool keepdim) {
  detail::check_not_empty(op, x, axes);
  Found found{empty(axes.shape(keepdim), x.dtype()), empty(axes.shape(keepdim), DType::i64)};
  visit_numeric(x.dtype(), [&]<class T>(std::type_identity<T>) {
    detail::reduce<T>(x, axes,
                      ExtremumRule<T, largest>{found.values.mutable_data<T>(),
                                               found.positions.mutable_data<std::int64_t>()});
  });
  return found;
}

struct SharedExtremumVjp {
  SavedTensor x, y;
  Shape axes, kept;
  void vjp(VjpContext& context) const {  // y = max x
    const Tensor top = reshape(context.unpack(y).detach(), kept);
    const Tensor ties = cast(eq(context.unpack(x).detach(), top), top.dtype());
    const Tensor share = div(reshape(context.cotangent(), kept), sum(ties, axes, true));
    context.set(0, mul(ties, share));
  }
};

struct FirstExtremumVjp {
  SavedTensor indices;
  Shape shape, kept;
  int axis = 0;
  void vjp(VjpContext& context) const {  // y = x[indices]
    const Tensor dy = reshape(context.cotangent(), kept);
    context.set(0, scatter(zeros(shape, dy.dtype()), axis, reshape(context.unpack(indices), kept), dy));
  }
};

template <bool largest>
Tensor shared(const char* op, const Tensor& x, const Shape& axes, bool keepdim) {
  check_numeric(op, "x", x);
  const detail::ReduceAxes reduced = detail::reduce_axes(op, x, axes);
  Tensor y = std::move(find<largest>(op, x, reduced, keepdim).values);
  record(op, {&x}, y, [&] {
    return SharedExtremumVjp{save_input(x, "x"), save_output(y, "y"), axes, reduced.kept};
  });
  return y;
}

template <bool largest>
ValuesIndices first(const char* op, const Tensor& x, std::int64_t axis, bool keepdim) {
  check_numeric(op, "x", x);
  const int k = normalize_axis(op, axis, x.rank());
  if (x.rank() == 0) return first<largest>(op, reshape(x, {1}), 0, false);
  const detail::ReduceAxes reduced = detail::reduce_axes(op, x, {k});
  Found found = find<largest>(op, x, reduced, keepdim);
  record(op, {&x}, found.values, [&] {
    return FirstExtremumVjp{save_input(found.positions, "indices"), x.shape(), reduced.kept, k};
  });
  return {found.values, found.positions};
}

template <bool largest>
Tensor position(const char* op, const Tensor& x, std::int64_t axis, bool keepdim) {
  check_numeric(op, "x", x);
  const int k = normalize_axis(op, axis, x.rank());
  return find<largest>(op, x, detail::reduce_axes(op, x, {k}), keepdim).positions;
}

}  // namespace

Tensor amax(const Tensor& x, const Shape& axes, bool keepdim) {
  return shared<true>("amax", x, axes, keepdim);
}

Tensor amin(const Tensor& x, const Shape& axes, bool keepdim) {
  return shared<false>("amin", x, axes, keepdim);
}

ValuesIndices max(const Tensor& x, std::int64_t axis, bool keepdim) {
  return first<true>("max", x, axis, keepdim);
}

ValuesIndices min(const Tensor& x, std::int64_t axis, bool keepdim) {
  return first<false>("min", x, axis, keepdim);
}

Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdim) {
  return position<true>("argmax", x, axis, keepdim);
}

Tensor argmin(const Tensor& x, std::int64_t axis, bool keepdim) {
  return position<false>("argmin", x, axis, keepdim);
}

}  // namespace heed
