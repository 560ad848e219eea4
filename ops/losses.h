#pragma once

#include <heed/core/tensor.h>
#include <heed/ops/cross_entropy.h>

namespace heed {

// Reductions: none gives the elements, sum their sum, mean their sum divided by their number.

/// Negative log-likelihood:  l_n = −w_y lp[y], and 0 where y == ignore_index. mean divides by Σ_kept w_y.
/// Shapes    log_probs [C], [N, C] or [N, C, d..]; target i32 or i64 [] / [N] / [N, d..].
/// DTypes    f32, f64.
/// Gradient  dlp[y] = −w_y dl.                              Order   any.
/// Edge      an ignored or zero-weighted row counts 0 even when it is Inf or NaN; all ignored: 0.
/// Saves     what the operations it is written in save.
/// Throws    IndexError (target outside 0 … C−1: value, position, C; before any read), ShapeError,
///           DTypeError, ValueError (label_smoothing is not 0).
Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const CrossEntropyOptions& options = {});

/// Squared error:  l = (a − b)².
/// Shapes    a and b alike.                                 DTypes  f32, f64.
/// Gradient  da = 2 (a − b) dl, db = −da.                   Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ShapeError, DTypeError.
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);

/// Absolute error:  l = |a − b|.
/// Shapes    a and b alike.                                 DTypes  f32, f64.
/// Gradient  da = sign(a − b) dl, db = −da; 0 at a = b.     Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ShapeError, DTypeError.
Tensor l1_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);

/// Huber's loss, with d = a − b:  l = d²/2 where |d| <= delta, else delta (|d| − delta/2).
/// delta = inf: half the squared error.
/// Shapes    a and b alike.                                 DTypes  f32, f64.
/// Gradient  da = clamp(d, −delta, delta) dl, db = −da.     Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ValueError (delta <= 0), ShapeError, DTypeError.
Tensor huber_loss(const Tensor& a, const Tensor& b, double delta = 1, Reduction reduction = Reduction::mean);

/// Huber's loss divided by beta:  l = d²/(2 beta) where |d| < beta, else |d| − beta/2. beta = 0: l1_loss.
/// Shapes    a and b alike.                                 DTypes  f32, f64.
/// Gradient  da = clamp(d/beta, −1, 1) dl, db = −da.        Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ValueError (beta < 0), ShapeError, DTypeError.
Tensor smooth_l1_loss(const Tensor& a, const Tensor& b, double beta = 1,
                      Reduction reduction = Reduction::mean);

/// Binary cross entropy of logits:  l = w ((1 − t) softplus(x) + pos_weight t softplus(−x)).
/// Shapes    logits and target alike; pos_weight and weight expand to them; undefined means 1.
/// DTypes    f32, f64.
/// Gradient  dx = w ((1 − t) sigmoid(x) − pos_weight t sigmoid(−x)) dl; the others get theirs.  Order   any.
/// Edge      a coefficient of 0 skips its term, so (−inf, 0) and (inf, 1) give 0.
/// Saves     what the operations it is written in save.
/// Throws    ShapeError, DTypeError.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const Tensor& pos_weight = {}, const Tensor& weight = {},
                                        Reduction reduction = Reduction::mean);

/// Kullback–Leibler divergence of log-probabilities:  l = t (log t − input), 0 where t = 0;
/// with log_target  l = exp(t) (t − input), 0 where t = −inf. mean divides by the number of elements.
/// Shapes    input and target alike.                        DTypes  f32, f64.
/// Gradient  dinput = −t dl; dtarget = (log t + 1 − input) dl, 0 where t = 0.  Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ShapeError, DTypeError.
Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean,
              bool log_target = false);

}  // namespace heed
