#include <cmath>

#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/attention/form/open_pairs.h>
#include <heed/ops/attention/form/statistics.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/where.h>

namespace heed::detail {
namespace {

// [.., Hkv, T, D] → [.., Hq, T, D], each head repeated for its group.
Tensor repeat_heads(const Tensor& x, std::int64_t groups) {
  if (groups == 1) return x;
  Shape grouped = x.shape();
  grouped.insert(x.rank() - 2, groups);
  Shape merged = x.shape();
  merged[x.rank() - 3] *= groups;
  return reshape(expand(unsqueeze(x, -3), grouped), merged);
}

Tensor column(const Tensor& per_head, int rank) {  // [H] → [H, 1, 1]
  return rank < 3 ? per_head : reshape(per_head, {per_head.size(0), 1, 1});
}

// What is subtracted before exp: the larger of the largest open logit and the sink, 0 on rows that have
// neither. It cancels in the result, so gradients take it as a constant.
Tensor row_shift(const Tensor& scores, const AttentionOptions& options) {
  Shape shape = scores.shape();
  shape[shape.rank() - 1] = 1;
  Tensor top =
      scores.size(-1) == 0 ? full(shape, minus_infinity, scores.dtype()) : amax(scores.detach(), {-1}, true);
  if (options.sink.defined()) top = maximum(top, expand(column(options.sink.detach(), scores.rank()), shape));
  return masked_fill(top, eq(top, minus_infinity), 0);
}

// scale · q kᵀ with softcap and additive mask; −inf on closed pairs.
Tensor logits_of(const Tensor& q, const Tensor& k, const AttentionOptions& options, const Tensor& open) {
  const double scale = options.scale.value_or(default_scale(q.size(-1)));
  Tensor s = mul(open_scores(q, k, open), scale);
  if (options.learned_softcap.defined()) {
    s = mul(tanh(div(s, options.learned_softcap)), options.learned_softcap);
  } else if (options.softcap > 0) {
    s = mul(tanh(div(s, options.softcap)), options.softcap);
  }
  const Tensor added = options.mask.additive(s.shape(), q.dtype());
  if (added.defined()) s = add(s, added);
  return open.defined() ? masked_fill(s, logical_not(open), minus_infinity) : s;
}

// The softmax of logits with a sink, and its intermediate results. Columns are [.., Hq, Tq, 1].
struct Softmax {
  Tensor shift;      // column, see row_shift
  Tensor shifted;    // logits − shift
  Tensor exps;       // exp(shifted)
  Tensor sink;       // column, sink − shift; undefined without one
  Tensor sum, dead;  // columns: Σ exps with the sink, and whether that is 0
  Tensor divisor;    // column, the sum, 1 on dead rows
  Tensor weights;    // exps / divisor
};

Softmax softmax_with_sink(const Tensor& logits, const AttentionOptions& options) {
  Softmax p;
  p.shift = row_shift(logits, options);
  p.shifted = sub(logits, p.shift);
  p.exps = exp(p.shifted);
  p.sum = sum(p.exps, {-1}, true);
  if (options.sink.defined()) {
    p.sink = sub(column(options.sink, logits.rank()), p.shift);
    p.sum = add(p.sum, exp(p.sink));
  }
  p.dead = eq(p.sum.detach(), 0);
  p.divisor = masked_fill(p.sum, p.dead, 1);
  p.weights = div(p.exps, p.divisor);
  return p;
}

// H = log Z − Σ P (s − m), the sink counted as one more key. Where exp(s − m) is 0 the term is 0 too, and not
// 0 · −∞ = NaN.
Tensor entropy_of(const Softmax& p) {
  const auto finite = [](const Tensor& shifted, const Tensor& e) {
    return masked_fill(shifted, eq(e.detach(), 0), 0);
  };
  Tensor moment = sum(mul(p.weights, finite(p.shifted, p.exps)), {-1}, true);
  if (p.sink.defined()) {
    const Tensor e = exp(p.sink);
    moment = add(moment, mul(div(e, p.divisor), finite(p.sink, e)));
  }
  return squeeze(sub(log(p.divisor), moment), -1);
}

RowNumbers numbers_of(const Softmax& p, const Tensor& logits) {
  const NoGrad guard;
  const Tensor shift = squeeze(p.shift, -1);
  const Tensor largest =
      logits.size(-1) == 0 ? full(shift.shape(), minus_infinity, shift.dtype()) : amax(logits.detach(), {-1});
  return {.largest_logit = largest, .max = shift, .sum = squeeze(p.sum.detach(), -1)};
}

}  // namespace

AttentionResult attention_composite(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  Shape pairs = q.shape();
  pairs[pairs.rank() - 1] = k.size(-2);
  const Tensor open = options.mask.open_pairs(pairs);
  const std::int64_t groups = q.size(-3) / k.size(-3);
  const Tensor logits = logits_of(q, repeat_heads(k, groups), options, open);
  const Softmax p = softmax_with_sink(logits, options);
  const Tensor weights = options.dropout_keep.defined()
                             ? dropout_with_keep(p.weights, options.dropout_keep, options.dropout)
                             : p.weights;

  AttentionResult result;
  result.output = open_sum(weights, repeat_heads(v, groups), open);
  if (options.need_weights) result.weights = p.weights;
  if (options.need_lse) {
    result.lse = squeeze(masked_fill(add(p.shift, log(p.divisor)), p.dead, minus_infinity), -1);
  }
  if (options.need_statistics) {
    result.entropy = entropy_of(p);
    add_statistics(result, numbers_of(p, logits), options.sink);
  }
  return result;
}

}  // namespace heed::detail
