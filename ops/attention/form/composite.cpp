#include <cmath>
#include <limits>

#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/activation.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// [.., Hkv, T, D] → [.., Hq, T, D], each head repeated for its group.
Tensor repeat_heads(const Tensor& x, std::int64_t groups) {
  if (groups == 1) return x;
  Shape grouped = x.shape();
  grouped.insert(x.rank() - 2, groups);
  Shape merged = x.shape();
  merged[x.rank() - 3] *= groups;
  return reshape(expand(unsqueeze(x, -3), grouped), merged);
}

// q kᵀ and W v. Where a closed pair could meet 0 · NaN, its operands are replaced by zeros pair by pair.
struct Products {
  Tensor open;  // undefined: all pairs are open
  bool guarded = false;

  Tensor pairs(const Tensor& x, int axis) const {  // x [.., T, D] → [.., Tq, Tk, D], zeros on closed pairs
    const Tensor y = unsqueeze(x, axis);
    return where(unsqueeze(open, -1), y, 0);
  }
  Tensor scores(const Tensor& q, const Tensor& k) const {
    return guarded ? sum(mul(pairs(q, -2), pairs(k, -3)), {-1}) : matmul(q, transpose(k));
  }
  Tensor output(const Tensor& weights, const Tensor& v) const {
    return guarded ? sum(mul(unsqueeze(weights, -1), pairs(v, -3)), {-2}) : matmul(weights, v);
  }
};

Tensor column(const Tensor& per_head, int rank) {  // [H] → [H, 1, 1]
  return rank < 3 ? per_head : reshape(per_head, {per_head.size(0), 1, 1});
}

// What is subtracted before exp: the largest open logit or sink, 0 on rows that have neither. A constant to gradients.
Tensor row_shift(const Tensor& scores, const AttentionOptions& options) {
  Shape shape = scores.shape();
  shape[shape.rank() - 1] = 1;
  Tensor top =
      scores.size(-1) == 0 ? full(shape, minus_infinity, scores.dtype()) : amax(scores.detach(), {-1}, true);
  if (options.sink.defined()) top = maximum(top, expand(column(options.sink.detach(), scores.rank()), shape));
  return masked_fill(top, eq(top, minus_infinity), 0);
}

}  // namespace

namespace detail {

AttentionResult attention_composite(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  Shape shape = q.shape();
  shape[shape.rank() - 1] = k.size(-2);
  const Tensor keys = repeat_heads(k, q.size(-3) / k.size(-3));
  const Tensor values = repeat_heads(v, q.size(-3) / v.size(-3));
  Products products{options.mask.open_pairs(shape)};
  products.guarded = products.open.defined() && !(all_finite(q) && all_finite(k) && all_finite(v));

  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor s = mul(products.scores(q, keys), scale);
  if (options.learned_softcap.defined()) {
    s = mul(tanh(div(s, options.learned_softcap)), options.learned_softcap);
  } else if (options.softcap > 0) {
    s = mul(tanh(div(s, options.softcap)), options.softcap);
  }
  if (const Tensor added = options.mask.additive(shape, q.dtype()); added.defined()) s = add(s, added);
  if (products.open.defined()) s = masked_fill(s, logical_not(products.open), minus_infinity);

  const Tensor shift = row_shift(s, options);
  const Tensor down = sub(s, shift);
  const Tensor e = exp(down);
  Tensor z = sum(e, {-1}, true);
  const Tensor sink_down =
      options.sink.defined() ? sub(column(options.sink, s.rank()), shift) : Tensor();  // [.., Tq, 1]
  if (sink_down.defined()) z = add(z, exp(sink_down));
  const Tensor dead = eq(z.detach(), 0);
  const Tensor safe_z = masked_fill(z, dead, 1);
  const Tensor p = div(e, safe_z);
  const Tensor w =
      options.dropout_keep.defined() ? dropout_with_keep(p, options.dropout_keep, options.dropout) : p;

  AttentionResult result;
  result.output = products.output(w, values);
  if (options.need_weights) result.weights = p;
  if (options.need_lse) result.lse = squeeze(masked_fill(add(shift, log(safe_z)), dead, minus_infinity), -1);
  if (options.need_statistics) {
    // H = log Z − Σ P (s − m), the sink being one more key; where exp is 0, P (s − m) is.
    Tensor moment = sum(mul(p, masked_fill(down, eq(e.detach(), 0), 0)), {-1}, true);
    if (sink_down.defined()) {
      const Tensor sink_e = exp(sink_down);
      moment = add(moment, mul(div(sink_e, safe_z), masked_fill(sink_down, eq(sink_e.detach(), 0), 0)));
    }
    result.entropy = squeeze(sub(log(safe_z), moment), -1);
    const NoGrad guard;
    const Tensor none = full(squeeze(shift, -1).shape(), minus_infinity, q.dtype());
    const Tensor top = s.size(-1) == 0 ? none : amax(s.detach(), {-1});
    add_statistics(result, top, squeeze(shift, -1), squeeze(z.detach(), -1), options.sink);
  }
  return result;
}

}  // namespace detail

}  // namespace heed
