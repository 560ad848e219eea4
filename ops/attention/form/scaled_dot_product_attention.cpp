#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/matmul.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

void check_operands(const Tensor& Q, const Tensor& K, const Tensor& V, const Tensor& mask) {
  const char* op = "scaled_dot_product_attention";
  check_floating(op, "Q", Q);
  check_same_dtype(op, "Q", Q, "K", K);
  check_same_dtype(op, "Q", Q, "V", V);
  check_rank(op, "Q", Q, 2);
  check_rank(op, "K", K, 2);
  check_rank(op, "V", V, 2);
  const std::string given =
      fmt::format("Q is {}, K is {} and V is {}", Q.shape().str(), K.shape().str(), V.shape().str());
  if (Q.size(-1) != K.size(-1)) fail<ShapeError>(op, "head sizes differ", given, "Q[-1] == K[-1]");
  if (K.size(-2) != V.size(-2)) fail<ShapeError>(op, "key and value lengths differ", given, "K[-2] == V[-2]");
  if (mask.defined()) check_dtype(op, "mask", mask, {DType::boolean});
}

// A product with a closed key or value that is NaN or infinite would carry it on as 0 · NaN: here `attention`, which leaves
// closed pairs out, stands in for the formula.
AttentionWeights without_closed_pairs(const Tensor& Q, const Tensor& K, const Tensor& V, const Tensor& mask) {
  const auto leading = [](const Tensor& x) {
    Shape shape;
    for (int axis = 0; axis + 2 < x.rank(); ++axis) shape.push_back(x.shape()[axis]);
    return shape;
  };
  const char* op = "scaled_dot_product_attention";
  const Shape common = broadcast_shapes(op, broadcast_shapes(op, leading(Q), leading(K)), leading(V));
  const auto expanded = [&](const Tensor& x) {
    Shape shape = common;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.shape() == shape ? x : expand(x, shape);
  };
  const AttentionResult result = attention(expanded(Q), expanded(K), expanded(V),
                                           {.mask = AttentionMask::attend(mask), .need_weights = true});
  return {result.output, result.weights};
}

}  // namespace

AttentionWeights scaled_dot_product_attention(const Tensor& Q, const Tensor& K, const Tensor& V,
                                              const Tensor& mask) {
  check_operands(Q, K, V, mask);
  Tensor scores = matmul(Q, transpose(K)) / std::sqrt(static_cast<double>(Q.size(-1)));
  if (!mask.defined()) {
    const Tensor weights = softmax(scores);
    return {matmul(weights, V), weights};
  }
  check_expands("scaled_dot_product_attention", "mask", mask, scores.shape());
  if (!(detail::all_finite(Q) && detail::all_finite(K) && detail::all_finite(V))) {
    return without_closed_pairs(Q, K, V, mask);
  }
  const Tensor closed = logical_not(mask);
  scores = masked_fill(scores, closed, -std::numeric_limits<double>::infinity());
  const Tensor dead = K.size(-2) == 0
                          ? closed
                          : eq(amax(scores.detach(), {-1}, true), -std::numeric_limits<double>::infinity());
  const Tensor weights = masked_fill(softmax(masked_fill(scores, dead, 0)), logical_or(closed, dead), 0);
  return {matmul(weights, V), weights};
}

}  // namespace heed
