#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <heed/core/elements.h>
#include <heed/core/record.h>
#include <heed/core/saved_struct.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/form/blocked_backward.h>
#include <heed/ops/attention/form/blocked_forward.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/attention/form/heads.h>
#include <heed/ops/attention/form/statistics.h>
#include <heed/ops/expand.h>
#include <heed/ops/sum.h>

namespace heed::detail {
namespace {

// Indices of the node's inputs and outputs. Weights and entropy follow as outputs if they are asked for.
enum Input : int { in_q, in_k, in_v, in_bias, in_slopes, in_sink };
enum Output : int { out_output, out_lse, out_others };

struct AttentionVjp {
  static constexpr bool may_be_infinite = true;  // lse of dead rows
  SavedTensor q, k, v, bias, slopes, sink, output, max, sum;
  SavedStruct<AttentionOptions> options;  // without bias, slopes and sink, which are saved above
  SavedStruct<AttentionMask::Plan> plan;  // likewise

  void vjp(VjpContext& context) const {  // O = softmax(scale · q kᵀ + bias) v
    // Unpacked before the form is chosen, so that a tensor overwritten since forward is an error in both.
    const AttentionOptions given = options.unpack(context);
    // Weights and entropy have gradients by the composite form alone.
    bool is_blocked = context.fused();
    const int outputs = out_others + (given.need_weights ? 1 : 0) + (given.need_statistics ? 1 : 0);
    for (int i = out_others; i < outputs; ++i) is_blocked = is_blocked && !context.has_cotangent(i);
    is_blocked ? blocked(context, given) : composite(context, given);
  }

  void composite(VjpContext& context, const AttentionOptions& given) const {
    vjp_of_composite(context, {&q, &k, &v, &bias, &slopes, &sink}, [&](std::span<const Tensor> inputs) {
      AttentionOptions same = given;
      same.mask = given.mask.with_additive(inputs[in_bias], inputs[in_slopes]);
      same.sink = inputs[in_sink];
      same.need_lse = true;
      const AttentionResult y = attention_composite(inputs[in_q], inputs[in_k], inputs[in_v], same);
      std::vector<Tensor> results{y.output, y.lse};
      if (given.need_weights) results.push_back(y.weights);
      if (given.need_statistics) results.push_back(y.entropy);
      return results;
    });
  }

  void blocked(VjpContext& context, const AttentionOptions& given) const {
    AttentionMask::Plan full = plan.unpack(context);
    full.bias = context.unpack(bias);
    full.slopes = context.unpack(slopes);
    AttentionOptions with_tensors = given;
    with_tensors.sink = context.unpack(sink);
    const AttentionHeads heads(context.unpack(q), context.unpack(k), context.unpack(v), with_tensors, full);
    const Tensor d_lse = context.has_cotangent(out_lse) ? context.cotangent(out_lse) : Tensor();
    const BlockedNeeds needs{.q = context.needs(in_q),
                             .k = context.needs(in_k),
                             .v = context.needs(in_v),
                             .logits = context.needs(in_bias) || context.needs(in_slopes),
                             .sink = context.needs(in_sink)};
    const BlockedGradients g = blocked_backward(
        heads, {.output = context.unpack(output), .max = context.unpack(max), .sum = context.unpack(sum)},
        {.output = context.cotangent(out_output), .lse = d_lse}, needs);
    if (needs.q) context.set(in_q, g.q);
    if (needs.k) context.set(in_k, g.k);
    if (needs.v) context.set(in_v, g.v);
    if (context.needs(in_bias)) context.set(in_bias, sum_to(g.logits, full.bias.shape()));
    if (context.needs(in_slopes)) {  // Σ dS ⊙ (−distance), per head
      const Tensor distance = given.mask.distance(g.logits.shape(), heads.dtype());
      const Tensor of_heads = neg(heed::sum(mul(g.logits, distance), {-2, -1}));  // [.., Hq]
      context.set(in_slopes, sum_to(of_heads, full.slopes.shape()));
    }
    if (needs.sink) context.set(in_sink, g.sink);
  }
};

// Log-sum-exp and entropy of each query, from the sums that forward left.
template <class T>
void finish_rows(const BlockedForward& rows, Tensor& lse, Tensor& entropy) {
  const T* max = rows.max.data<T>();
  const T* sum = rows.sum.data<T>();
  T* l = lse.mutable_data<T>();
  T* h = entropy.defined() ? entropy.mutable_data<T>() : nullptr;
  for (std::int64_t i = 0; i < lse.numel(); ++i) {
    const bool dead = sum[i] == 0;
    l[i] = dead ? -std::numeric_limits<T>::infinity() : max[i] + std::log(sum[i]);
    if (h != nullptr) h[i] = dead ? T(0) : std::log(sum[i]) - rows.moment.data<T>()[i] / sum[i];
  }
}

// The results of a forward pass. Output and weights are moved out of `forward`.
AttentionResult result_of(BlockedForward& forward) {
  AttentionResult result;
  result.output = std::move(forward.output);
  result.weights = std::move(forward.weights);
  result.lse = empty(forward.max.shape(), forward.max.dtype());
  if (forward.moment.defined()) result.entropy = empty(forward.max.shape(), forward.max.dtype());
  visit_floating(forward.max.dtype(), [&]<class T>(std::type_identity<T>) {
    finish_rows<T>(forward, result.lse, result.entropy);
  });
  return result;
}

// What a node keeps besides its saved tensors. Bias, slopes and sink are among those, so they are left out.
AttentionOptions without_inputs(AttentionOptions options) {
  options.mask = options.mask.with_additive({}, {});
  options.sink = Tensor();
  return options;
}
AttentionMask::Plan without_inputs(AttentionMask::Plan plan) {
  plan.bias = plan.slopes = Tensor();
  return plan;
}

}  // namespace

bool attention_blocks_cover(const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options) {
  return !options.learned_softcap.defined() && q.numel() > 0 && k.numel() > 0 && v.numel() > 0;
}

AttentionResult attention_blocked(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOptions& options) {
  Shape scores = q.shape();
  scores[scores.rank() - 1] = k.size(-2);
  const AttentionMask::Plan plan = options.mask.plan(scores);
  BlockedForward forward =
      blocked_forward(AttentionHeads(q, k, v, options, plan), options.need_weights, options.need_statistics);
  AttentionResult result = result_of(forward);

  std::vector<Tensor*> outputs{&result.output, &result.lse};
  if (options.need_weights) outputs.push_back(&result.weights);
  if (options.need_statistics) outputs.push_back(&result.entropy);
  const std::array<const Tensor*, 6> inputs{&q, &k, &v, &plan.bias, &plan.slopes, &options.sink};
  record_spans("attention", inputs, outputs, [&] {
    return AttentionVjp{.q = save_input(q, "q"),
                        .k = save_input(k, "k"),
                        .v = save_input(v, "v"),
                        .bias = save_input(plan.bias, "bias"),
                        .slopes = save_input(plan.slopes, "slopes"),
                        .sink = save_input(options.sink, "sink"),
                        .output = save_output(result.output, "output"),
                        .max = save_input(forward.max, "max"),
                        .sum = save_input(forward.sum, "sum"),
                        .options = SavedStruct(without_inputs(options)),
                        .plan = SavedStruct(without_inputs(plan))};
  });
  if (options.need_statistics) {
    add_statistics(result, {.largest_logit = forward.largest_logit, .max = forward.max, .sum = forward.sum},
                   options.sink);
  }
  if (!options.need_lse) result.lse = Tensor();
  return result;
}

}  // namespace heed::detail
