#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/cast.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/rope.h>

namespace heed {
namespace {

// Cosines and sines [P, 2, rotary/2] for P positions.
Tensor make_table(const Tensor& positions, const RopeOptions& options, DType dtype) {
  const Tensor dense = contiguous(cast(positions, DType::i64));
  const std::int64_t half = options.rotary / 2;
  Tensor table = empty({dense.numel(), 2, half}, dtype);
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    T* out = table.mutable_data<T>();
    const std::int64_t* position = dense.data<std::int64_t>();
    for (std::int64_t p = 0; p < dense.numel(); ++p, out += 2 * half) {
      for (std::int64_t k = 0; k < half; ++k) {
        const double exponent = -2 * static_cast<double>(k) / static_cast<double>(options.rotary);
        const double angle = static_cast<double>(position[p]) * std::pow(options.base, exponent);
        out[k] = static_cast<T>(std::cos(angle));
        out[half + k] = static_cast<T>(std::sin(angle));
      }
    }
  });
  return table;
}

struct Rotation {
  RopeLayout layout = RopeLayout::half;
  bool backwards = false;
  std::int64_t rows_per_table = 0;  // rows of x that share one walk over the table: L, or H·L
};

Tensor rotated(const Tensor& x, const Tensor& table, const Rotation& rotation);

struct RopeVjp {
  SavedTensor table;
  Rotation rotation;
  void vjp(VjpContext& context) const {  // y = x rotated
    Rotation back = rotation;
    back.backwards = !rotation.backwards;
    context.set(0, rotated(context.cotangent(), context.unpack(table), back));
  }
};

// One row: cosines c and sines s [half].
template <class T>
void rotate_row(const T* x, T* y, const T* c, const T* s, std::int64_t half, const Rotation& rotation) {
  const T sign = rotation.backwards ? T(-1) : T(1);
  const bool pairs = rotation.layout == RopeLayout::interleaved;
  const std::int64_t next = pairs ? 2 : 1;      // to the next pair
  const std::int64_t other = pairs ? 1 : half;  // to the second of a pair
  for (std::int64_t k = 0; k < half; ++k) {
    const T a = x[k * next];
    const T b = x[k * next + other];
    y[k * next] = a * c[k] - b * (sign * s[k]);
    y[k * next + other] = a * (sign * s[k]) + b * c[k];
  }
}

Tensor rotated(const Tensor& x, const Tensor& table, const Rotation& rotation) {
  const Tensor dense = contiguous(x.detach());
  Tensor y = empty(x.shape(), x.dtype());
  const std::int64_t width = x.size(-1);
  const std::int64_t length = x.size(-2);
  const std::int64_t half = table.size(-1);
  const std::int64_t rows = x.numel() == 0 ? 0 : x.numel() / width;
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* from = dense.data<T>();
    const T* angles = table.data<T>();
    T* to = y.mutable_data<T>();
    parallel_for(rows, std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(width, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const std::int64_t p = r / rotation.rows_per_table * length + r % length;
                     const T* c = angles + p * 2 * half;
                     rotate_row(from + r * width, to + r * width, c, c + half, half, rotation);
                     std::copy(from + r * width + 2 * half, from + (r + 1) * width,
                               to + r * width + 2 * half);
                   }
                 });
  });
  record("rope", {&x}, y, [&] { return RopeVjp{save_input(table, "table"), rotation}; });
  return y;
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options) {
  check_floating("rope", "x", x);
  check_dtype("rope", "positions", positions, {DType::i32, DType::i64});
  check_rank("rope", "positions", positions, 1, 2);
  check_rank("rope", "x", x, positions.rank() + 1);
  const std::int64_t width = x.size(-1);
  const std::int64_t length = x.size(-2);
  const bool batched = positions.rank() == 2;
  check_shape("rope", "positions", positions, batched ? Shape{x.shape()[0], length} : Shape{length},
              "[L], or [B, L]");
  RopeOptions resolved = options;
  if (resolved.rotary == 0) resolved.rotary = width;
  check_value(resolved.rotary >= 0 && resolved.rotary % 2 == 0 && resolved.rotary <= width, "rope", "rotary",
              resolved.rotary, fmt::format("an even number up to the {} dimensions of x", width));
  check_value(resolved.base > 0, "rope", "base", resolved.base, "base > 0");
  Rotation rotation{resolved.layout, false, std::max<std::int64_t>(x.numel(), 1)};
  if (batched && x.numel() > 0) rotation.rows_per_table = x.numel() / width / x.shape()[0];
  return rotated(x, make_table(positions, resolved, x.dtype()), rotation);
}

}  // namespace heed
