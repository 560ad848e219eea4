#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/dropout.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/kernels/attention.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr const char* op = "attention";
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

Shape leading_axes(const Tensor& x) {  // all but head, time, channels
  Shape shape;
  for (int i = 0; i + 3 < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

Shape scores_shape(const Tensor& q, const Tensor& k) {
  Shape shape = broadcast_shapes(op, leading_axes(q), leading_axes(k));
  shape.push_back(q.size(-3));
  shape.push_back(q.size(-2));
  shape.push_back(k.size(-2));
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
  check_value(options.dropout >= 0 && options.dropout <= 1, op, "dropout", options.dropout,
              "0 <= dropout <= 1");
  if (options.sink.defined()) {
    check_same_dtype(op, "q", q, "sink", options.sink);
    check_shape(op, "sink", options.sink, {heads(q)}, "one logit for each query head");
  }
  if (options.dropout_keep.defined()) check_dtype(op, "dropout_keep", options.dropout_keep, {DType::boolean});
}

// [.., Hkv, T, D] → [.., Hq, T, D], each head repeated for its group.
Tensor repeat_heads(const Tensor& x, std::int64_t groups) {
  if (groups == 1) return x;
  Shape grouped = x.shape();
  grouped.insert(x.rank() - 2, groups);
  Shape merged = x.shape();
  merged[x.rank() - 3] *= groups;
  return reshape(expand(unsqueeze(x, -3), grouped), merged);
}

bool all_finite(const Tensor& x) {
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = x.data<T>() - x.offset();
    bool finite = true;
    const StridedLoop<1> loop({&x.view()});
    loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
      if (step[0] == 1) {
        finite = finite && kernels::all_finite(data + at[0], count);
      } else {
        for (std::int64_t i = 0; i < count; ++i) finite = finite && std::isfinite(data[at[0] + i * step[0]]);
      }
    });
    return finite;
  });
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
  const Shape shape = scores_shape(q, k);
  const Tensor keys = repeat_heads(k, q.size(-3) / k.size(-3));
  const Tensor values = repeat_heads(v, q.size(-3) / v.size(-3));
  Products products{options.mask.open_pairs(shape)};
  products.guarded = products.open.defined() && !(all_finite(q) && all_finite(k) && all_finite(v));

  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor s = mul(products.scores(q, keys), scale);
  if (options.softcap > 0) s = mul(tanh(div(s, options.softcap)), options.softcap);
  if (const Tensor added = options.mask.additive(shape, q.dtype()); added.defined()) s = add(s, added);
  if (products.open.defined()) s = masked_fill(s, logical_not(products.open), minus_infinity);

  const Tensor shift = row_shift(s, options);
  const Tensor e = exp(sub(s, shift));
  Tensor z = sum(e, {-1}, true);
  if (options.sink.defined()) z = add(z, exp(sub(column(options.sink, s.rank()), shift)));
  const Tensor dead = eq(z.detach(), 0);
  const Tensor safe_z = masked_fill(z, dead, 1);
  const Tensor p = div(e, safe_z);
  const Tensor w =
      options.dropout_keep.defined() ? dropout_with_keep(p, options.dropout_keep, options.dropout) : p;

  AttentionResult result{products.output(w, values), {}, {}};
  if (options.need_weights) result.weights = p;
  if (options.need_lse) result.lse = squeeze(masked_fill(add(shift, log(safe_z)), dead, minus_infinity), -1);
  return result;
}

}  // namespace detail

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options) {
  check_operands(q, k, v, options);
  const auto with_head = [](const Tensor& x) { return x.rank() == 2 ? unsqueeze(x, 0) : x; };
  const Tensor q3 = with_head(q);
  const Tensor k3 = with_head(k);
  const Tensor v3 = with_head(v);
  const Shape shape = scores_shape(q3, k3);
  broadcast_shapes(op, leading_axes(k3), leading_axes(v3));
  options.mask.check(op, shape, q.dtype());
  if (options.dropout_keep.defined()) check_expands(op, "dropout_keep", options.dropout_keep, shape);
  // A block product would meet 0 · NaN on closed pairs; the composite form guards them pair by pair.
  const bool fused = detail::attention_fusible(q3, k3, v3, options) &&
                     (options.mask.empty() || (all_finite(q3) && all_finite(k3) && all_finite(v3)));
  AttentionResult result =
      fused ? detail::attention_fused(q3, k3, v3, options) : detail::attention_composite(q3, k3, v3, options);
  if (q.rank() == 2 && k.rank() == 2 && v.rank() == 2) {
    result.output = squeeze(result.output, 0);
    if (options.need_weights) result.weights = squeeze(result.weights, 0);
    if (options.need_lse) result.lse = squeeze(result.lse, 0);
  }
  return result;
}

}  // namespace heed
