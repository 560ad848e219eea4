#include <cmath>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/strided_loop.h>

namespace heed {
namespace {

std::string is(std::string_view name, const Tensor& x) {
  return fmt::format("{} is {}", name, x.shape().str());
}

std::string dtypes(std::initializer_list<DType> allowed) {
  std::string text;
  for (const DType d : allowed) {
    if (!text.empty()) text += " or ";
    text += name_of(d);
  }
  return text;
}

}  // namespace

std::string describe(const Tensor& x) {
  return x.defined() ? fmt::format("{}{}", name_of(x.dtype()), x.shape().str()) : "undefined";
}

void detail::fail_undefined(std::string_view op, std::string_view name) {
  fail<ValueError>(op, "tensor is undefined", fmt::format("{} is undefined", name), "a tensor");
}

void check_dtype(std::string_view op, std::string_view name, const Tensor& x,
                 std::initializer_list<DType> allowed) {
  check_defined(op, name, x);
  for (const DType d : allowed) {
    if (x.dtype() == d) return;
  }
  detail::fail_dtype(op, name, x, allowed);
}

void detail::fail_dtype(std::string_view op, std::string_view name, const Tensor& x,
                        std::initializer_list<DType> allowed) {
  fail<DTypeError>(op, "dtype not supported", fmt::format("{} is {}", name, describe(x)), dtypes(allowed));
}

void detail::fail_dtypes_differ(std::string_view op, std::string_view name_a, const Tensor& a,
                                std::string_view name_b, const Tensor& b) {
  const bool both_floating = is_floating(a.dtype()) && is_floating(b.dtype());
  fail<DTypeError>(op, "dtypes differ",
                   fmt::format("{} is {} and {} is {}", name_a, describe(a), name_b, describe(b)),
                   both_floating ? "one dtype (use cast; 1.0f is f32)" : "one dtype (use cast)");
}

void check_same_shape(std::string_view op, std::string_view name_a, const Tensor& a, std::string_view name_b,
                      const Tensor& b) {
  check_defined(op, name_a, a);
  check_defined(op, name_b, b);
  if (a.shape() == b.shape()) return;
  fail<ShapeError>(op, "shapes differ", is(name_a, a) + " and " + is(name_b, b), "equal shapes");
}

void check_shape(std::string_view op, std::string_view name, const Tensor& x, const Shape& expected,
                 std::string_view why) {
  check_defined(op, name, x);
  if (x.shape() == expected) return;
  fail<ShapeError>(op, fmt::format("{} has the wrong shape", name), is(name, x),
                   why.empty() ? expected.str() : fmt::format("{}, {}", expected.str(), why));
}

void check_rank(std::string_view op, std::string_view name, const Tensor& x, int min_rank, int max_rank) {
  check_defined(op, name, x);
  if (x.rank() >= min_rank && x.rank() <= max_rank) return;
  fail<ShapeError>(op, fmt::format("{} has the wrong number of axes", name), is(name, x),
                   min_rank == max_rank          ? fmt::format("{} axes", min_rank)
                   : max_rank == Shape::max_rank ? fmt::format("{} axes or more", min_rank)
                                                 : fmt::format("{} to {} axes", min_rank, max_rank));
}

void check_expands(std::string_view op, std::string_view name, const Tensor& x, const Shape& shape) {
  check_defined(op, name, x);
  if (can_expand(x.shape(), shape)) return;
  fail<ShapeError>(op, fmt::format("{} does not broadcast", name), is(name, x),
                   fmt::format("a shape that expands to {}", shape.str()));
}

void fail_index(std::string_view op, std::string_view name, std::int64_t value, std::int64_t position,
                std::int64_t bound) {
  fail<IndexError>(op, "index out of range", fmt::format("{} is {} at position {}", name, value, position),
                   fmt::format("0 <= {} < {}", name, bound));
}

void check_indices(std::string_view op, std::string_view name, const Tensor& indices, std::int64_t bound) {
  check_dtype(op, name, indices, {DType::i32, DType::i64});
  visit_numeric(indices.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = indices.data<T>() - indices.offset();
    std::int64_t position = 0;
    const StridedLoop<1> loop({&indices.view()});
    loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i, ++position) {
        const auto value = static_cast<std::int64_t>(data[at[0] + i * step[0]]);
        if (value < 0 || value >= bound) fail_index(op, name, value, position, bound);
      }
    });
  });
}

void check_value(bool ok, std::string_view op, std::string_view name, double value,
                 std::string_view expected) {
  if (ok) return;
  const double shown = std::isnan(value) ? std::fabs(value) : value;  // nan, never -nan
  fail<ValueError>(op, fmt::format("bad {}", name), fmt::format("{} is {}", name, shown), expected);
}

void check_value(bool ok, std::string_view op, std::string_view name, std::int64_t value,
                 std::string_view expected) {
  if (!ok) fail<ValueError>(op, fmt::format("bad {}", name), fmt::format("{} is {}", name, value), expected);
}

}  // namespace heed
