#pragma once

#include <optional>

#include <heed/core/tensor.h>
#include <heed/ops/attention/mask/attention_mask.h>

namespace heed {

struct AttentionOptions {
  AttentionMask mask = {};
  /// Factor of q·k; 1/√D if not given (1 where D is 0: all logits are 0). Any sign, and zero, are legal.
  std::optional<double> scale = {};
  /// The same as a tensor of one element, differentiable; then `scale` is not given.
  Tensor learned_scale = {};
  /// Logits become cap · tanh(logit / cap) before any mask; 0 = none.
  double softcap = 0;
  /// The same as a positive tensor of one element, differentiable; then `softcap` is 0.
  Tensor learned_softcap = {};
  /// [Hq]: one more logit in each row's denominator, without a value. Undefined = none.
  Tensor sink = {};
  /// Boolean keep mask of the weights, broadcasts to [.., Hq, Tq, Tk]; W = P ⊙ keep / (1 − dropout).
  /// Needed where dropout is not 0; at dropout = 1 all weights are 0.
  Tensor dropout_keep = {};
  double dropout = 0;
  bool need_weights = false;
  bool need_lse = false;
  bool need_statistics = false;
};

/// Calls `visit(name, tensor)` for each tensor of the options, the mask's included.
template <class Visit>
void visit_tensors(AttentionOptions& options, Visit&& visit) {
  visit_tensors(options.mask, visit);
  visit("learned_scale", options.learned_scale);
  visit("learned_softcap", options.learned_softcap);
  visit("sink", options.sink);
  visit("dropout_keep", options.dropout_keep);
}

struct AttentionResult {
  Tensor output;  ///< [.., Hq, Tq, Dv]
  // Undefined unless asked for:
  Tensor weights;         ///< P [.., Hq, Tq, Tk], before dropout
  Tensor lse;             ///< log Σ exp of the logits, sink included [.., Hq, Tq]; −inf on dead rows
  Tensor entropy;         ///< −Σ P log P over keys and sink, in nats [.., Hq, Tq]; 0 on dead rows
  Tensor effective_keys;  ///< exp(entropy) [.., Hq, Tq]: so many keys of equal weight have this entropy
  // Statistics without gradients:
  Tensor largest_logit;  ///< of the open keys [.., Hq, Tq]; −inf without one
  Tensor sink_mass;      ///< weight of the sink [.., Hq, Tq]; 0 without one
  Tensor saturated;      ///< share of the rows that have a weight above 0.99 [.., Hq]
};

/// Scaled dot-product attention over heads:  s = scale · q kᵀ, softcap, additive mask, closed pairs left out,
/// P = softmax over open keys (and the sink), output = W v.
/// Shapes    q [.., Hq, Tq, D], k [.., Hkv, Tk, D], v [.., Hkv, Tk, Dv] → output [.., Hq, Tq, Dv].
///           Two axes: one head. Leading axes broadcast; Hq is a multiple of Hkv, and query head h reads key
///           head h / (Hq/Hkv).
/// DTypes    f32, f64.
/// Gradient  dv = Wᵀ dO, dP = (dO vᵀ) ⊙ keep / (1 − dropout) + dweights, dS = P ⊙ (dP − Δ + dlse),
///           Δ = Σ dO ⊙ O + Σ P ⊙ dweights; through the softcap, then dq = scale dS k, dk = scale dSᵀ q. Also
///           for bias, slopes, sink, learned_scale and learned_softcap.
/// Order     any.
/// Saves     q, k, v, output and of each query the maximum and the sum of its softmax; P is recomputed.
///           Closed tiles cost nothing. Weights, entropy and learned_softcap have gradients through the
///           composite form, which keeps P.
/// Edge      A query without open key or sink: output 0, weights 0, lse −inf, zero gradients. NaN and
///           infinities in keys and values that are closed to a query do not reach it.
/// Throws    ShapeError (head sizes, lengths, head counts, mask parts), DTypeError, ValueError (softcap < 0,
///           dropout outside [0, 1] or without dropout_keep, scale or softcap given twice, and what
///           AttentionMask::check says of positions).
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options = {});

}  // namespace heed
