#include <algorithm>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/parallel.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/triangle.h>

namespace heed {
namespace {

struct TriangleVjp {
  bool lower = true;
  std::int64_t diagonal = 0;
  void vjp(VjpContext& context) const {  // y = x in the triangle, 0 outside
    context.set(0, lower ? tril(context.cotangent(), diagonal) : triu(context.cotangent(), diagonal));
  }
};

// A copy of x with the other triangle cleared.
Tensor triangle(const char* op, const Tensor& x, std::int64_t diagonal, bool lower) {
  check_rank(op, "x", x, 2);
  Tensor y = copy_of(x);
  const std::int64_t n = x.size(-2);
  const std::int64_t m = x.size(-1);
  const std::int64_t rows = m == 0 ? 0 : x.numel() / m;
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* out = y.mutable_data<T>();
    parallel_for(rows, std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(m, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     // Columns j of row i with j − i <= diagonal, or with j − i < diagonal.
                     const std::int64_t low = std::clamp<std::int64_t>(diagonal, -n - m, n + m);
                     const std::int64_t border =
                         std::clamp<std::int64_t>(r % n + low + (lower ? 1 : 0), 0, m);
                     T* row = out + r * m;
                     if (lower) {
                       std::fill(row + border, row + m, T(0));
                     } else {
                       std::fill(row, row + border, T(0));
                     }
                   }
                 });
  });
  record(op, {&x}, y, [&] { return TriangleVjp{lower, diagonal}; });
  return y;
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, true); }

Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, false); }

}  // namespace heed
