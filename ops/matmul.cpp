#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/matmul.h>
#include <heed/ops/matrix_product.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

struct MatmulVjp {
  SavedTensor a, b;                      // [.., m, k], [.., k, n], equal leading axes
  void vjp(VjpContext& context) const {  // y = a b
    const Tensor& dy = context.cotangent();
    if (context.needs(0)) context.set(0, matmul(dy, transpose(context.unpack(b))));
    if (context.needs(1)) context.set(1, matmul(transpose(context.unpack(a)), dy));
  }
};

Tensor batched_matmul(const Tensor& a, const Tensor& b) {
  Shape shape = a.shape();
  shape[shape.rank() - 1] = b.shape().back();
  Tensor y = empty(shape, a.dtype());
  detail::product_into(a, b, 0, y);
  record("matmul", {&a, &b}, y, [&] { return MatmulVjp{save_input(a, "a"), save_input(b, "b")}; });
  return y;
}

Shape leading_axes(const Tensor& x) {
  Shape shape = x.shape();
  shape.erase(shape.rank() - 1);
  shape.erase(shape.rank() - 1);
  return shape;
}

Tensor expand_leading(const Tensor& x, Shape leading) {
  leading.push_back(x.size(-2));
  leading.push_back(x.size(-1));
  return leading == x.shape() ? x : expand(x, leading);
}

void check_inner(const Tensor& a, const Tensor& b) {
  const int axis = b.rank() == 1 ? -1 : -2;
  if (a.size(-1) == b.size(axis)) return;
  fail<ShapeError>("matmul", "inner dimensions differ",
                   fmt::format("a is {} and b is {}", a.shape().str(), b.shape().str()),
                   fmt::format("a[-1] == b[{}]", axis));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_floating("matmul", "a", a);
  check_floating("matmul", "b", b);
  check_same_dtype("matmul", "a", a, "b", b);
  check_rank("matmul", "a", a, 1);
  check_rank("matmul", "b", b, 1);
  check_inner(a, b);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  if (a.rank() == b.rank() && a.rank() == 2) return batched_matmul(a, b);
  if (b.rank() == 2) {  // one product over all rows
    Shape shape = a.shape();
    shape[shape.rank() - 1] = b.size(1);
    return reshape(batched_matmul(reshape(a, {element_count(leading_axes(a)) * a.size(-2), a.size(-1)}), b),
                   shape);
  }
  const Shape leading = broadcast_shapes("matmul", leading_axes(a), leading_axes(b));
  return batched_matmul(expand_leading(a, leading), expand_leading(b, leading));
}

namespace {

// x, or zeros in its place that get zeros as their gradient: x is not read.
Tensor read_unless(bool ignored, const Tensor& x) {
  return ignored ? masked_fill(x, ones({}, DType::boolean), 0) : x;
}

}  // namespace

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  check_rank("addmm", "a", a, 2, 2);
  check_rank("addmm", "b", b, 2, 2);
  check_same_dtype("addmm", "c", c, "a", a);
  if (a.size(1) != b.size(0)) {
    fail<ShapeError>("addmm", "inner dimensions differ",
                     fmt::format("a is {} and b is {}", a.shape().str(), b.shape().str()), "a[1] == b[0]");
  }
  check_expands("addmm", "c", c, {a.size(0), b.size(1)});
  const bool no_c = beta.to<double>() == 0;
  const bool no_product = alpha.to<double>() == 0;
  return add(mul(read_unless(no_c, c), beta),
             mul(matmul(read_unless(no_product, a), read_unless(no_product, b)), alpha));
}

}  // namespace heed
