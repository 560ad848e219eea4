#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/expand.h>
#include <heed/ops/kernels/elementwise_kernels.h>

namespace heed::detail {
namespace {

constexpr std::int64_t piece_size = 256;

// Hands out a strided row in dense pieces: where the row is not dense, through a buffer in the first cache.
class DenseRow {
 public:
  DenseRow(const float* x, std::int64_t step) : x_(x), step_(step) {
    if (step == 0) buffer_.fill(*x);
  }
  const float* piece(std::int64_t begin, std::int64_t count) {
    if (step_ == 1) return x_ + begin;
    if (step_ != 0) {
      for (std::int64_t i = 0; i < count; ++i) {
        buffer_[static_cast<std::size_t>(i)] = x_[(begin + i) * step_];
      }
    }
    return buffer_.data();
  }

 private:
  const float* x_;
  std::int64_t step_;
  std::array<float, piece_size> buffer_;
};

// y[i] = f(a[i], b[i]) into a row-major y, which may be an operand.
void map_kernel_into(kernels::Map2 f, const Tensor& a, const Tensor& b, Tensor& y) {
  const float* from_a = a.data<float>() - a.offset();
  const float* from_b = b.data<float>() - b.offset();
  float* to = y.mutable_data<float>() - y.offset();
  const StridedLoop<3> loop({&y.view(), &a.view(), &b.view()});
  loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
    float* out = to + at[0];
    if (step[1] == 1 && step[2] == 1) return kernels::map2(f, from_a + at[1], from_b + at[2], out, count);
    DenseRow p(from_a + at[1], step[1]);
    DenseRow q(from_b + at[2], step[2]);
    for (std::int64_t i = 0; i < count; i += piece_size) {
      const std::int64_t n = std::min(piece_size, count - i);
      kernels::map2(f, p.piece(i, n), q.piece(i, n), out + i, n);
    }
  });
}

}  // namespace

Tensor scalar_like(std::string_view op, const Tensor& x, Scalar value) {
  check_defined(op, "x", x);
  const double real = value.to<double>();
  if (is_integer(x.dtype()) && !value.is_integral() && !(std::nearbyint(real) == real)) {
    fail<ValueError>(op, "number is not whole",
                     fmt::format("{} for a tensor of {}", real, name_of(x.dtype())),
                     "a whole number (or cast the tensor)");
  }
  return full({}, value, x.dtype());
}

Operands::Operands(std::string_view op, const Tensor& given_a, const Tensor& given_b)
    : a((check_defined(op, "a", given_a), check_defined(op, "b", given_b), given_a.shape() == given_b.shape())
            ? given_a
            : expanded_a_),
      b(&a == &given_a ? given_b : expanded_b_) {
  if (&a == &given_a) return;
  const Shape shape = broadcast_shapes(op, given_a.shape(), given_b.shape());
  expanded_a_ = expand(given_a, shape);
  expanded_b_ = expand(given_b, shape);
}

Tensor map_kernel(kernels::Map f, const Tensor& x) {
  Tensor y = empty(x.shape(), DType::f32);
  auto* to = y.mutable_data<float>();
  const float* from = x.data<float>() - x.offset();
  StridedLoop<2>({&y.view(), &x.view()}).run_parallel([&](const auto& at, const auto& step, auto count) {
    if (step[1] == 1) return kernels::map(f, from + at[1], to + at[0], count);
    DenseRow in(from + at[1], step[1]);
    for (std::int64_t i = 0; i < count; i += piece_size) {
      const std::int64_t n = std::min(piece_size, count - i);
      kernels::map(f, in.piece(i, n), to + at[0] + i, n);
    }
  });
  return y;
}

Tensor map_kernel(kernels::Map2 f, const Tensor& a, const Tensor& b) {
  Tensor y = empty(a.shape(), DType::f32);
  map_kernel_into(f, a, b, y);
  return y;
}

Tensor map_kernel(kernels::Map2 f, const Tensor& a, Tensor&& b) {
  Tensor y = std::move(b);
  if (!y.owns_storage_alone() || !y.is_contiguous() || y.requires_grad())
    return map_kernel(f, a, std::as_const(y));
  map_kernel_into(f, a, y, y);
  return y;
}

}  // namespace heed::detail
