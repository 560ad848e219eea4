#pragma once

#include <optional>

#include <heed/core/tensor.h>
#include <heed/ops/attention_mask.h>

namespace heed {

struct AttentionOptions {
  AttentionMask mask = {};
  /// Factor of q·k; 1/√D if not given. Any sign, and zero, are legal.
  std::optional<double> scale = {};
  /// Logits become cap · tanh(logit / cap) before any mask; 0 = none.
  double softcap = 0;
  /// [Hq]: one more logit in each row's denominator, without a value. Undefined = none.
  Tensor sink = {};
  /// Boolean keep mask of the weights, broadcasts to [.., Hq, Tq, Tk]; W = P ⊙ keep / (1 − dropout). Undefined = no dropout.
  Tensor dropout_keep = {};
  double dropout = 0;
  bool need_weights = false;
  bool need_lse = false;
};

struct AttentionResult {
  Tensor output;   ///< [.., Hq, Tq, Dv]
  Tensor weights;  ///< P [.., Hq, Tq, Tk], before dropout; undefined unless asked for
  Tensor
      lse;  ///< log Σ exp of the logits, sink included [.., Hq, Tq]; −inf on dead rows; undefined unless asked for
};

/// Scaled dot-product attention over heads:  s = scale · q kᵀ, softcap, additive mask, closed pairs left out,
/// P = softmax over open keys (and the sink), output = W v.
/// Shapes    q [.., Hq, Tq, D], k [.., Hkv, Tk, D], v [.., Hkv, Tk, Dv] → output [.., Hq, Tq, Dv]. Two axes: one head.
///           Leading axes broadcast; Hq is a multiple of Hkv and query head h reads key head h / (Hq/Hkv).
/// DTypes    f32, f64.
/// Gradient  dv = Wᵀ dO, dS = P ⊙ (dP − Δ + dlse), Δ = Σ dO ⊙ O + Σ P ⊙ dweights, dq = scale dS k, dk = scale dSᵀ q;
///           also for bias, slopes and sink.        Order   any.
/// Saves     q, k, v and, without options that need the composite form, P.
/// Edge      A query without open key or sink: output 0, weights 0, lse −inf, zero gradients. NaN or infinities in keys
///           and values that are closed to a query do not reach it.
/// Throws    ShapeError (head sizes, lengths, head counts, mask parts), DTypeError, ValueError (softcap < 0, dropout
///           outside [0, 1]).
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options = {});

namespace detail {
/// The same by recorded operations: every option, derivatives of any order. The reference of the fused form.
AttentionResult attention_composite(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options);
/// Whether the fused form covers these operands: four axes, unit stride in the last, no softcap, sink, dropout, lse.
bool attention_fusible(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
/// One pass a head: product, masked softmax, product.
AttentionResult attention_fused(const Tensor& q, const Tensor& k, const Tensor& v,
                                const AttentionOptions& options);
}  // namespace detail

}  // namespace heed
