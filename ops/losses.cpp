#include <cmath>
#include <limits>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/gather.h>
#include <heed/ops/losses.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

void check_alike(const char* op, const char* name_a, const Tensor& a, const char* name_b, const Tensor& b) {
  check_floating(op, name_a, a);
  check_same_dtype(op, name_a, a, name_b, b);
  check_same_shape(op, name_a, a, name_b, b);
}

Tensor difference(const char* op, const Tensor& a, const Tensor& b) {
  check_alike(op, "a", a, "b", b);
  return sub(a, b);
}

// Class indices as i64, each the ignored one or in 0 … classes−1.
Tensor checked_classes(const Tensor& target, std::int64_t ignore_index, std::int64_t classes) {
  const Tensor at = contiguous(cast(target, DType::i64));
  const std::int64_t* y = at.data<std::int64_t>();
  for (std::int64_t i = 0; i < at.numel(); ++i) {
    if (y[i] != ignore_index && (y[i] < 0 || y[i] >= classes)) {
      fail_index("nll_loss", "target", y[i], i, classes);
    }
  }
  return at;
}

}  // namespace

Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const CrossEntropyOptions& options) {
  check_floating("nll_loss", "log_probs", log_probs);
  check_rank("nll_loss", "log_probs", log_probs, 1);
  check_dtype("nll_loss", "target", target, {DType::i32, DType::i64});
  check_value(options.label_smoothing == 0, "nll_loss", "label_smoothing", options.label_smoothing,
              "0 (cross_entropy smooths)");
  const int axis = log_probs.rank() == 1 ? 0 : 1;
  const std::int64_t classes = log_probs.shape()[axis];
  Shape shape = log_probs.shape();
  shape.erase(axis);
  check_shape("nll_loss", "target", target, shape, "the shape of log_probs without the class axis");
  if (options.weight.defined()) {
    check_same_dtype("nll_loss", "log_probs", log_probs, "weight", options.weight);
    check_shape("nll_loss", "weight", options.weight, {classes}, "one number for each class");
  }
  const Tensor y = checked_classes(target, options.ignore_index, classes);
  const Tensor ignored = eq(y, options.ignore_index);
  const Tensor kept = masked_fill(y, ignored, 0);
  Tensor weight = ones(shape, log_probs.dtype());
  if (options.weight.defined()) {
    weight = reshape(index_select(options.weight, 0, reshape(kept, {kept.numel()})), shape);
  }
  weight = masked_fill(weight, ignored, 0);
  const Tensor picked = squeeze(gather(log_probs, axis, unsqueeze(kept, axis)), axis);
  const Tensor losses = neg(mul(masked_fill(picked, eq(weight.detach(), 0), 0), weight));
  if (options.reduction != Reduction::mean) return reduced(losses, options.reduction);
  const Tensor total = sum(weight);
  return div(sum(losses), masked_fill(total, eq(total.detach(), 0), 1));
}

Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  return reduced(square(difference("mse_loss", a, b)), reduction);
}

Tensor l1_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  return reduced(abs(difference("l1_loss", a, b)), reduction);
}

Tensor huber_loss(const Tensor& a, const Tensor& b, double delta, Reduction reduction) {
  check_value(delta > 0, "huber_loss", "delta", delta, "delta > 0");
  const Tensor d = difference("huber_loss", a, b);
  const Tensor size = abs(d);
  const Tensor far = gt(size.detach(), delta);
  const Tensor inner = masked_fill(d, far, 0);
  const Tensor near = mul(mul(inner, 0.5), inner);  // d² may be beyond the range where its half is not
  // With delta = inf nothing is far, but 0 · inf would come of what is not chosen.
  if (std::isinf(delta)) return reduced(near, reduction);
  return reduced(where(far, mul(sub(size, delta / 2), delta), near), reduction);
}

Tensor smooth_l1_loss(const Tensor& a, const Tensor& b, double beta, Reduction reduction) {
  check_value(beta >= 0, "smooth_l1_loss", "beta", beta, "beta >= 0");
  const Tensor d = difference("smooth_l1_loss", a, b);
  const Tensor size = abs(d);
  if (beta == 0) return reduced(size, reduction);
  const Tensor far = ge(size.detach(), beta);
  const Tensor inner = masked_fill(d, far, 0);
  // The quotient first: it is below 1, where d² and 1/beta may be beyond the range.
  const Tensor near = mul(mul(div(inner, beta), 0.5), inner);
  return reduced(where(far, sub(size, beta / 2), near), reduction);
}

// c · x, and 0 where c is 0 and x is infinite.
Tensor skip_zero(const Tensor& c, const Tensor& x) {
  const Tensor skipped =
      logical_and(eq(c.detach(), 0), eq(x.detach(), std::numeric_limits<double>::infinity()));
  return mul(c, masked_fill(x, skipped, 0));
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, const Tensor& pos_weight,
                                        const Tensor& weight, Reduction reduction) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  check_alike(op, "logits", logits, "target", target);
  Tensor positive = target;
  if (pos_weight.defined()) {
    check_same_dtype(op, "logits", logits, "pos_weight", pos_weight);
    check_expands(op, "pos_weight", pos_weight, logits.shape());
    positive = mul(target, pos_weight);
  }
  Tensor losses =
      add(skip_zero(sub(1, target), softplus(logits)), skip_zero(positive, softplus(neg(logits))));
  if (weight.defined()) {
    check_same_dtype(op, "logits", logits, "weight", weight);
    check_expands(op, "weight", weight, logits.shape());
    losses = mul(losses, weight);
  }
  return reduced(losses, reduction);
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
  check_alike("kl_div", "input", input, "target", target);
  if (log_target) {
    // A probability of 0 adds 0, where 0 · −inf would be NaN.
    const Tensor closed = eq(target.detach(), -std::numeric_limits<double>::infinity());
    const Tensor open = masked_fill(target, closed, 0);
    return reduced(mul(masked_fill(exp(open), closed, 0), sub(open, masked_fill(input, closed, 0))),
                   reduction);
  }
  // 1 in place of a target of 0 keeps its logarithm, and the term itself, at 0.
  const Tensor zero = eq(target.detach(), 0);
  const Tensor losses = mul(target, sub(log(masked_fill(target, zero, 1)), input));
  return reduced(masked_fill(losses, zero, 0), reduction);
}

}  // namespace heed
