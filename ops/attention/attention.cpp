#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/fusion.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/expand.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

constexpr const char* attention_op = "attention";

Shape leading_axes(const Tensor& x) {  // all but head, time, channels
  Shape shape;
  for (int i = 0; i + 3 < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

std::int64_t heads_of(const Tensor& x) { return x.rank() < 3 ? 1 : x.size(-3); }

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  check_floating(attention_op, "q", q);
  check_same_dtype(attention_op, "q", q, "k", k);
  check_same_dtype(attention_op, "q", q, "v", v);
  check_rank(attention_op, "q", q, 2);
  check_rank(attention_op, "k", k, 2);
  check_rank(attention_op, "v", v, 2);
  const std::string given =
      fmt::format("q is {}, k is {} and v is {}", q.shape().str(), k.shape().str(), v.shape().str());
  if (q.size(-1) != k.size(-1)) fail<ShapeError>(attention_op, "head sizes differ", given, "q[-1] == k[-1]");
  if (k.size(-2) != v.size(-2))
    fail<ShapeError>(attention_op, "key and value lengths differ", given, "k[-2] == v[-2]");
  if (heads_of(k) != heads_of(v) || heads_of(k) == 0 || heads_of(q) % heads_of(k) != 0) {
    fail<ShapeError>(attention_op, "head counts do not fit", given,
                     "k[-3] == v[-3], and q[-3] a multiple of it");
  }
}

void check_options(const Tensor& q, const AttentionOptions& options) {
  check_value(options.softcap >= 0, attention_op, "softcap", options.softcap, "softcap >= 0");
  const auto check_learned = [&](const char* name, const Tensor& x, bool also_given) {
    if (!x.defined()) return;
    check_same_dtype(attention_op, "q", q, name, x);
    if (x.numel() != 1)
      fail<ShapeError>(attention_op, fmt::format("{} has several elements", name), x.shape().str(),
                       "one element");
    if (also_given)
      fail<ValueError>(attention_op, fmt::format("{} is given twice", name), "a number and a tensor",
                       "one of them");
  };
  check_learned("learned_scale", options.learned_scale, options.scale.has_value());
  check_learned("learned_softcap", options.learned_softcap, options.softcap != 0);
  check_value(options.dropout >= 0 && options.dropout <= 1, attention_op, "dropout", options.dropout,
              "0 <= dropout <= 1");
  if (options.sink.defined()) {
    check_same_dtype(attention_op, "q", q, "sink", options.sink);
    check_shape(attention_op, "sink", options.sink, {heads_of(q)}, "one logit for each query head");
  }
  if (options.dropout_keep.defined()) {
    check_dtype(attention_op, "dropout_keep", options.dropout_keep, {DType::boolean});
  } else if (options.dropout > 0) {
    fail<ValueError>(
        attention_op, "dropout without a mask of what is kept", fmt::format("dropout is {}", options.dropout),
        "dropout_keep, such as ge(rand(shape, generator), dropout) with the shape of the weights");
  }
}

// [.., H, T, D] for all three, with equal leading axes, and the shape of their logits [.., Hq, Tq, Tk].
struct Operands {
  Tensor q, k, v;
  Shape scores;
};

Operands with_equal_leading_axes(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto with_head = [](const Tensor& x) { return x.rank() == 2 ? unsqueeze(x, 0) : x; };
  Operands x{.q = with_head(q), .k = with_head(k), .v = with_head(v), .scores = {}};
  const Shape leading = broadcast_shapes(
      attention_op, broadcast_shapes(attention_op, leading_axes(x.q), leading_axes(x.k)), leading_axes(x.v));
  for (Tensor* t : {&x.q, &x.k, &x.v}) {
    Shape shape = leading;
    for (int axis = -3; axis < 0; ++axis) shape.push_back(t->size(axis));
    if (t->shape() != shape) *t = expand(*t, shape);
  }
  x.scores = leading;
  for (const std::int64_t n : {x.q.size(-3), x.q.size(-2), x.k.size(-2)}) x.scores.push_back(n);
  return x;
}

void remove_head_axis(AttentionResult& result) {
  for (Tensor* x : {&result.output, &result.weights, &result.lse, &result.entropy, &result.effective_keys,
                    &result.largest_logit, &result.sink_mass, &result.saturated}) {
    if (x->defined()) *x = squeeze(*x, 0);
  }
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options) {
  check_operands(q, k, v);
  check_options(q, options);
  AttentionOptions plain = options;
  Operands x = with_equal_leading_axes(q, k, v);
  options.mask.check(attention_op, x.scores, q.dtype());
  if (options.dropout_keep.defined())
    check_expands(attention_op, "dropout_keep", options.dropout_keep, x.scores);

  if (options.learned_scale.defined()) {  // the forms take the scale as a number
    x.q = mul(x.q, reshape(options.learned_scale, {}));
    plain.scale = 1;
    plain.learned_scale = Tensor();
  }
  AttentionResult result = fusion_enabled() && detail::attention_blocks_cover(x.q, x.k, x.v, plain)
                               ? detail::attention_blocked(x.q, x.k, x.v, plain)
                               : detail::attention_composite(x.q, x.k, x.v, plain);
  if (q.rank() == 2 && k.rank() == 2 && v.rank() == 2) remove_head_axis(result);
  return result;
}

}  // namespace heed
