#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/form/open_pairs.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>

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
  if (!mask.defined()) return;
  check_dtype(op, "mask", mask, {DType::boolean});
  const auto leading = [](const Tensor& x) {
    Shape shape = x.shape();
    shape.erase(shape.rank() - 1);
    shape.erase(shape.rank() - 1);
    return shape;
  };
  Shape scores = broadcast_shapes(op, leading(Q), leading(K));
  scores.push_back(Q.size(-2));
  scores.push_back(K.size(-2));
  check_expands(op, "mask", mask, scores);
}

}  // namespace

AttentionWeights scaled_dot_product_attention(const Tensor& Q, const Tensor& K, const Tensor& V,
                                              const Tensor& mask) {
  check_operands(Q, K, V, mask);
  const double d_k = static_cast<double>(std::max<std::int64_t>(Q.size(-1), 1));
  const Tensor scores = detail::open_scores(Q, K, mask) / std::sqrt(d_k);
  const Tensor weights = detail::open_softmax(scores, mask);
  return {.output = detail::open_sum(weights, V, mask), .weights = weights};
}

}  // namespace heed
