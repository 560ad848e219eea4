#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/expand.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr const char* op = "attention";

Shape leading_axes(const Tensor& x) {  // all but head, time, channels
  Shape shape;
  for (int i = 0; i + 3 < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_floating(op, "q", q);
  check_same_dtype(op, "q", q, "k", k);
  check_same_dtype(op, "q", q, "v", v);
  check_rank(op, "q", q, 2);
  check_rank(op, "k", k, 2);
  check_rank(op, "v", v, 2);
  const std::string given =
      fmt::format("q is {}, k is {} and v is {}", q.shape().str(), k.shape().str(), v.shape().str());
  if (q.size(-1) != k.size(-1)) fail<ShapeError>(op, "head sizes differ", given, "q[-1] == k[-1]");
  if (k.size(-2) != v.size(-2)) fail<ShapeError>(op, "key and value lengths differ", given, "k[-2] == v[-2]");
  const auto heads = [](const Tensor& x) { return x.rank() < 3 ? 1 : x.size(-3); };
  if (heads(k) != heads(v) || heads(k) == 0 || heads(q) % heads(k) != 0) {
    fail<ShapeError>(op, "head counts do not fit", given, "k[-3] == v[-3], and q[-3] a multiple of it");
  }
  check_value(options.softcap >= 0, op, "softcap", options.softcap, "softcap >= 0");
  const auto check_learned = [&](const char* name, const Tensor& x, bool also_given) {
    if (!x.defined()) return;
    check_same_dtype(op, "q", q, name, x);
    if (x.numel() != 1)
      fail<ShapeError>(op, fmt::format("{} has several elements", name), x.shape().str(), "one element");
    if (also_given)
      fail<ValueError>(op, fmt::format("{} is given twice", name), "a number and a tensor", "one of them");
  };
  check_learned("learned_scale", options.learned_scale, options.scale.has_value());
  check_learned("learned_softcap", options.learned_softcap, options.softcap != 0);
  check_value(options.dropout >= 0 && options.dropout <= 1, op, "dropout", options.dropout,
              "0 <= dropout <= 1");
  if (options.sink.defined()) {
    check_same_dtype(op, "q", q, "sink", options.sink);
    check_shape(op, "sink", options.sink, {heads(q)}, "one logit for each query head");
  }
  if (options.dropout_keep.defined()) check_dtype(op, "dropout_keep", options.dropout_keep, {DType::boolean});
}

}  // namespace

namespace detail {

void add_statistics(AttentionResult& result, const Tensor& largest_logit, const Tensor& max,
                    const Tensor& sum, const Tensor& sink) {
  result.effective_keys = exp(result.entropy);
  const NoGrad guard;
  result.largest_logit = largest_logit;
  const Tensor dead = eq(sum, 0);
  const auto weight_of = [&](const Tensor& logit) {
    return masked_fill(div(exp(sub(logit, max)), sum), dead, 0);
  };
  result.sink_mass =
      sink.defined() ? weight_of(unsqueeze(sink.detach(), -1)) : zeros(sum.shape(), sum.dtype());
  const Tensor saturated = gt(weight_of(largest_logit), 0.99);
  result.saturated = mean(cast(saturated, sum.dtype()), {-1});
}

}  // namespace detail

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options) {
  check_operands(q, k, v, options);
  const auto with_head = [](const Tensor& x) { return x.rank() == 2 ? unsqueeze(x, 0) : x; };
  Tensor q3 = with_head(q);
  const Tensor k3 = with_head(k);
  const Tensor v3 = with_head(v);
  const Shape leading =
      broadcast_shapes(op, broadcast_shapes(op, leading_axes(q3), leading_axes(k3)), leading_axes(v3));
  const auto with_leading = [&](const Tensor& x) {
    Shape shape = leading;
    for (int axis = -3; axis < 0; ++axis) shape.push_back(x.size(axis));
    return x.shape() == shape ? x : expand(x, shape);
  };
  Shape scores = leading;
  for (const std::int64_t n : {q3.size(-3), q3.size(-2), k3.size(-2)}) scores.push_back(n);
  options.mask.check(op, scores, q.dtype());
  if (options.dropout_keep.defined()) check_expands(op, "dropout_keep", options.dropout_keep, scores);

  AttentionOptions plain = options;
  if (options.learned_scale.defined()) {
    q3 = mul(q3, reshape(options.learned_scale, {}));
    plain.scale = 1;
    plain.learned_scale = Tensor();
  }
  const Tensor qs = with_leading(q3);
  const Tensor ks = with_leading(k3);
  const Tensor vs = with_leading(v3);
  AttentionResult result = fusion_enabled() && detail::attention_blocks_cover(qs, ks, vs, plain)
                               ? detail::attention_blocked(qs, ks, vs, plain)
                               : detail::attention_composite(qs, ks, vs, plain);
  if (q.rank() == 2 && k.rank() == 2 && v.rank() == 2) {
    for (Tensor* x : {&result.output, &result.weights, &result.lse, &result.entropy, &result.effective_keys,
                      &result.largest_logit, &result.sink_mass, &result.saturated}) {
      if (x->defined()) *x = squeeze(*x, 0);
    }
  }
  return result;
}

}  // namespace heed
