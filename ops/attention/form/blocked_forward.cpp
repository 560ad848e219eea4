#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/kernels/blocks.h>
#include <heed/ops/attention/kernels/scalar_row.h>
#include <heed/ops/expand.h>
#include <heed/ops/sum.h>

namespace heed::detail {

Tensor empty_heads(const Shape& rows, std::int64_t size, DType dtype) {
  const int rank = rows.rank() + 1;
  Shape shape = rows;
  std::swap(shape[rank - 3], shape[rank - 2]);
  shape.push_back(size);
  Shape axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::swap(axes[rank - 3], axes[rank - 2]);
  const Tensor y = empty(shape, dtype);
  return view_of(y, permute_view("attention", y.view(), axes));
}

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// Block number i of a head in an order whose halves hold equal work under a causal mask: first, last, second, …
std::int64_t balanced_block(std::int64_t i, std::int64_t blocks) {
  return i % 2 == 0 ? i / 2 : blocks - 1 - i / 2;
}

// What one pass computes for each query [.., Hq, Tq].
struct RowTensors {
  Tensor max, sum, moment, top;  // the last two only for statistics
};

// False if something came out that is not finite and `careful` is not set: then the caller asks again, with zeros in
// place of what is not finite in the operands, and queries that it should reach computed one by one.
template <class T>
bool forward(bool careful, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
             const AttentionMask::Plan& plan, RowTensors& rows, Tensor& output, Tensor& weights) {
  OddRows q_odd, k_odd, v_odd;
  const AttentionHeads given(q, k, v, options, plan);
  const AttentionHeads finite =
      careful ? given.with(without_odd_rows(q, q_odd), without_odd_rows(k, k_odd), without_odd_rows(v, v_odd))
              : given;
  std::atomic<bool> all_finite{true};
  const auto data = [](Tensor& x) { return x.defined() ? x.mutable_data<T>() : nullptr; };
  const std::array<T*, 4> row_data{data(rows.max), data(rows.sum), data(rows.moment), data(rows.top)};
  T* out = output.mutable_data<T>();
  T* w = data(weights);
  const auto out_at = sample_offsets(output);
  const std::int64_t blocks = given.blocks();
  const std::int64_t scratch = std::max(kernels::attention_scratch(given.size, given.value_size),
                                        given.queries == 1 ? 2 * given.keys : 0);

  const auto run = [&](std::int64_t b, std::int64_t h, std::int64_t first, T* memory) {
    const kernels::AttentionHead<T> head = finite.head<T>(b, h);
    const std::int64_t row = (b * given.heads + h) * given.queries;
    const auto of_head = [&](int i) {
      return row_data[static_cast<std::size_t>(i)] == nullptr ? nullptr
                                                              : row_data[static_cast<std::size_t>(i)] + row;
    };
    const kernels::AttentionRows<T> state{of_head(0), of_head(1), of_head(2), of_head(3)};
    const kernels::Rows<T> to{
        out + out_at[static_cast<std::size_t>(b)] + h * output.strides()[output.rank() - 3],
        output.strides()[output.rank() - 2]};
    std::uint64_t odd = reached_by_odd_rows<T>(given, b, h, first, q_odd, k_odd, v_odd);
    if (given.queries == 1) {
      odd |= static_cast<std::uint64_t>(!kernels::attention_query(head, 0, to[0], state, memory));
    } else {
      odd |= kernels::attention_forward(head, first, to, state, memory);
    }
    const kernels::Rows<T> w_rows{w == nullptr ? nullptr : w + row * given.keys, given.keys};
    if (w != nullptr) kernels::attention_weights(head, first, state, w_rows, memory);
    if (odd == 0) return;
    if (!careful) {
      all_finite.store(false, std::memory_order_relaxed);
      return;
    }
    const kernels::AttentionHead<T> as_given = given.head<T>(b, h);
    for (std::int64_t i = first; i < std::min(first + kernels::attention_block, given.queries); ++i) {
      if ((odd >> (i - first) & 1) != 0) kernels::attention_row_forward(as_given, i, to, state, w_rows);
    }
  };
  const std::int64_t tasks = given.samples * given.heads * blocks;
  // Products of a block with all keys; a chunk is worth waking a thread for.
  const std::int64_t work =
      std::min(kernels::attention_block, given.queries) * given.keys * (given.size + given.value_size);
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 18) / work);
  parallel_for(tasks, grain, [&](std::int64_t begin, std::int64_t end) {
    Tensor memory = empty({scratch}, q.dtype());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i / blocks;
      run(head / given.heads, head % given.heads,
          balanced_block(i % blocks, blocks) * kernels::attention_block, memory.mutable_data<T>());
    }
  });
  return all_finite.load(std::memory_order_relaxed);
}

// log-sum-exp, entropy: of max, sum and moment.
template <class T>
void finish_rows(const RowTensors& rows, Tensor& lse, Tensor& entropy) {
  const T* max = rows.max.data<T>();
  const T* sum = rows.sum.data<T>();
  T* l = lse.mutable_data<T>();
  T* h = entropy.defined() ? entropy.mutable_data<T>() : nullptr;
  for (std::int64_t i = 0; i < lse.numel(); ++i) {
    const bool dead = sum[i] == 0;
    l[i] = dead ? static_cast<T>(minus_infinity) : max[i] + std::log(sum[i]);
    if (h != nullptr) h[i] = dead ? T(0) : std::log(sum[i]) - rows.moment.data<T>()[i] / sum[i];
  }
}

// Inputs of the node: q, k, v, bias, slopes, sink. Outputs: output, lse, then weights and entropy if asked for.
struct AttentionVjp {
  static constexpr bool may_be_infinite = true;  // lse of dead rows
  SavedTensor q, k, v, bias, slopes, sink, open, keep, output, max, sum;
  AttentionOptions options;
  AttentionMask::Plan plan;  // ranges alone

  void vjp(VjpContext& context) const {  // O = softmax(scale · q kᵀ + bias) v
    context.unpack(open);                // a mask written to since is an error, in both forms
    context.unpack(keep);
    const int more = 2 + (options.need_weights ? 1 : 0) + (options.need_statistics ? 1 : 0);
    bool beyond = !context.fused();  // weights and entropy have gradients by the composite form alone
    for (int i = 2; i < more; ++i) beyond = beyond || context.has_cotangent(i);
    beyond ? composite(context) : blocked(context);
  }

  void composite(VjpContext& context) const {
    detail::vjp_of_composite(
        context, {&q, &k, &v, &bias, &slopes, &sink}, [&](std::span<const Tensor> inputs) {
          AttentionOptions same = options;
          same.mask = options.mask.with_additive(inputs[3], inputs[4]);
          same.sink = inputs[5];
          same.need_lse = true;
          const AttentionResult y = attention_composite(inputs[0], inputs[1], inputs[2], same);
          std::vector<Tensor> results{y.output, y.lse};
          if (options.need_weights) results.push_back(y.weights);
          if (options.need_statistics) results.push_back(y.entropy);
          return results;
        });
  }

  void blocked(VjpContext& context) const {
    const Tensor q_ = context.unpack(q);
    const Tensor k_ = context.unpack(k);
    AttentionMask::Plan full = plan;
    full.open = context.unpack(open);
    full.bias = context.unpack(bias);
    full.slopes = context.unpack(slopes);
    AttentionOptions with_sink = options;
    with_sink.sink = context.unpack(sink);
    with_sink.dropout_keep = context.unpack(keep);
    AttentionCotangents asked{context.cotangent(0),
                              context.has_cotangent(1) ? context.cotangent(1) : Tensor()};
    asked.q = context.needs(0);
    asked.k = context.needs(1);
    asked.v = context.needs(2);
    asked.logits = context.needs(3) || context.needs(4);
    asked.sink = context.needs(5);
    const AttentionGradientTensors g =
        attention_gradients(q_, k_, context.unpack(v), with_sink, full,
                            {context.unpack(output), context.unpack(max), context.unpack(sum)}, asked);
    if (asked.q) context.set(0, g.q);
    if (asked.k) context.set(1, g.k);
    if (asked.v) context.set(2, g.v);
    if (context.needs(3)) context.set(3, sum_to(g.logits, full.bias.shape()));
    if (context.needs(4)) {  // Σ dS ⊙ (−distance), per head
      const Tensor distance = options.mask.distance(g.logits.shape(), q_.dtype());
      const Tensor each = neg(heed::sum(mul(g.logits, distance), {-2, -1}));  // [.., Hq]
      context.set(4, sum_to(each, full.slopes.shape()));
    }
    if (asked.sink) context.set(5, g.sink);
  }
};

}  // namespace

bool attention_blocks_cover(const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options) {
  return !options.learned_softcap.defined() && q.numel() > 0 && k.numel() > 0 && v.numel() > 0;
}

AttentionResult attention_blocked(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOptions& options) {
  Shape scores = q.shape();
  scores[scores.rank() - 1] = k.size(-2);
  Shape per_row;
  for (int axis = 0; axis + 1 < q.rank(); ++axis) per_row.push_back(q.shape()[axis]);
  const DType dtype = q.dtype();
  AttentionMask::Plan plan = options.mask.plan(scores);
  RowTensors rows{empty(per_row, dtype), empty(per_row, dtype), {}, {}};
  AttentionResult result;
  result.output = empty_heads(per_row, v.size(-1), dtype);
  result.lse = empty(per_row, dtype);
  if (options.need_weights) result.weights = empty(scores, dtype);
  if (options.need_statistics) {
    rows.moment = empty(per_row, dtype);
    rows.top = empty(per_row, dtype);
    result.entropy = empty(per_row, dtype);
  }
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    for (const bool careful : {false, true}) {
      if (forward<T>(careful, q, k, v, options, plan, rows, result.output, result.weights)) break;
    }
    finish_rows<T>(rows, result.lse, result.entropy);
  });

  std::vector<Tensor*> outputs{&result.output, &result.lse};
  if (options.need_weights) outputs.push_back(&result.weights);
  if (options.need_statistics) outputs.push_back(&result.entropy);
  const std::array<const Tensor*, 6> inputs{&q, &k, &v, &plan.bias, &plan.slopes, &options.sink};
  detail::record_spans("attention", inputs, outputs, [&] {
    AttentionVjp payload{save_input(q, "q"),
                         save_input(k, "k"),
                         save_input(v, "v"),
                         save_input(plan.bias, "bias"),
                         save_input(plan.slopes, "slopes"),
                         save_input(options.sink, "sink"),
                         save_input(plan.open, "mask"),
                         save_input(options.dropout_keep, "dropout_keep"),
                         save_output(result.output, "output"),
                         save_input(rows.max, "max"),
                         save_input(rows.sum, "sum"),
                         options,
                         plan};
    // Kept once, by the saved tensors.
    payload.plan.open = payload.plan.bias = payload.plan.slopes = Tensor();
    payload.options.mask = options.mask.with_additive({}, {});
    payload.options.sink = Tensor();
    return payload;
  });
  if (options.need_statistics) add_statistics(result, rows.top, rows.max, rows.sum, options.sink);
  if (!options.need_lse) result.lse = Tensor();
  return result;
}

}  // namespace heed::detail
