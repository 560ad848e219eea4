#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/fusion.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/matrix_product.h>
#include <heed/ops/reshape.h>
#include <heed/ops/transpose.h>

namespace heed {
namespace {

struct LinearVjp {
  SavedTensor x, weight;                 // [rows, in], [out, in]
  void vjp(VjpContext& context) const {  // y = x Wᵀ + b
    const Tensor& dy = context.cotangent();
    if (context.needs(0)) context.set(0, matmul(dy, context.unpack(weight)));
    if (context.needs(1)) context.set(1, matmul(transpose(dy), context.unpack(x)));
    if (context.needs(2)) context.set(2, sum_to(dy, {dy.size(-1)}));
  }
};

// x [rows, in] → [rows, out]
Tensor linear_rows(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!fusion_enabled()) {
    const Tensor product = matmul(x, transpose(weight));
    return bias.defined() ? add(product, bias) : product;
  }
  Tensor y = empty({x.size(0), weight.size(0)}, x.dtype());
  if (bias.defined()) copy_elements(view_of(bias, expand_view("linear", bias.view(), y.shape())), y);
  detail::product_into(x, view_of(weight, permute_view("linear", weight.view(), {1, 0})),
                       bias.defined() ? 1 : 0, y);
  record("linear", {&x, &weight, &bias}, y, [&] {
    return LinearVjp{save_input(x, "x"), save_input(weight, "weight")};
  });
  return y;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floating("linear", "x", x);
  check_same_dtype("linear", "x", x, "weight", weight);
  check_rank("linear", "x", x, 1);
  check_rank("linear", "weight", weight, 2, 2);
  if (x.size(-1) != weight.size(1)) {
    fail<ShapeError>("linear", "last axis of x differs from weight's",
                     fmt::format("x is {} and weight is {}", x.shape().str(), weight.shape().str()),
                     "x[-1] == weight[1]");
  }
  if (bias.defined()) {
    check_same_dtype("linear", "x", x, "bias", bias);
    check_shape("linear", "bias", bias, {weight.size(0)}, "one number for each row of weight");
  }
  if (x.rank() == 2) return linear_rows(x, weight, bias);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = 1;
  const std::int64_t rows = element_count(shape);
  shape[shape.rank() - 1] = weight.size(0);
  return reshape(linear_rows(reshape(x, {rows, x.size(-1)}), weight, bias), shape);
}

}  // namespace heed
