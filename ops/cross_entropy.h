#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// How per-element losses become the result.
enum class Reduction { none, sum, mean };

struct CrossEntropyOptions {
  /// Weight of each class [C]; undefined means 1.
  Tensor weight = {};
  /// Targets with this index are left out of the loss. It may lie inside or outside 0 … C−1.
  std::int64_t ignore_index = -100;
  /// ε in [0, 1].
  double label_smoothing = 0.0;
  Reduction reduction = Reduction::mean;
};

/// Cross entropy of logits, with lp = log_softmax(x) over the classes.
///   class indices y:  l_n = (1−ε) w_y (−lp[y]) + (ε/C) Σ_c w_c (−lp[c]), and 0 where y == ignore_index;
///   probabilities y:  l_n = −Σ_c w_c ((1−ε) y_c + ε/C) lp[c].
/// A term whose coefficient is 0 is skipped, whatever its logit.
/// Reduction none gives l, sum Σ l, mean Σ l / Σ_kept w_y for indices (0 when that weight is 0)
/// and Σ l / N for probabilities.
/// Shapes    logits [C], [N, C] or [N, C, d..]; target i64 or i32 [] / [N] / [N, d..], or floating of the
///           logits' shape. Result: the target's shape without the class axis for none, [] otherwise.
/// DTypes    f32, f64.
/// Gradient  dx = dl (softmax(x) Σ_c a_c − a), a_c the coefficient of −lp[c]; exactly 0 for an ignored row,
///           even if it holds NaN. Floating targets and the weight get gradients too.        Order   any.
/// Saves     logits, target, and of each row its maximum and the sum of exponentials but the maximum's.
/// Throws    IndexError (a target outside 0 … C−1 that is not ignore_index: value, position, C; before any
///           read), ShapeError, DTypeError, ValueError (label_smoothing).
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

/// Sum of the losses and the weight they would be divided by. Over micro-batches or ranks, add
/// both and divide once.
struct LossSum {
  Tensor sum;
  double weight = 0;
};

/// `cross_entropy` with reduction sum, and Σ_kept w_y (or N for probabilities), a number without a gradient.
/// Shapes, DTypes, Gradient, Order, Saves, Throws: as cross_entropy.
LossSum cross_entropy_sum(const Tensor& logits, const Tensor& target,
                          const CrossEntropyOptions& options = {});

}  // namespace heed
