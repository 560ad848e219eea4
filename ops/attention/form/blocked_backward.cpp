#include <algorithm>
#include <array>
#include <cmath>

#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/kernels/blocks.h>
#include <heed/ops/attention/kernels/row_softmax.h>
#include <heed/ops/attention/kernels/scalar_row.h>

namespace heed::detail {
namespace {

// Everything that the tasks of one backward pass share.
template <class T>
struct Pass {
  const AttentionHeads& given;   // as the caller gave them
  const AttentionHeads& finite;  // with zeros in rows that are not finite
  const Tensor& d_output;        // finite, dense rows
  const Tensor& d_output_given;
  const std::vector<std::int64_t> d_output_at, output_at;
  const Tensor& output;
  const T* max;
  const T* sum;
  const T* d_lse;  // may be null
  const OddRows &q_odd, &k_odd, &v_odd, &do_odd;
  AttentionGradientTensors& gradients;
  std::vector<std::int64_t> dq_at;
  T *dq, *logits;  // may be null
  bool needs_k, needs_v;

  kernels::Rows<const T> d_output_rows(const Tensor& x, std::int64_t b, std::int64_t h) const {
    return {x.data<T>() + d_output_at[static_cast<std::size_t>(b)] + h * x.strides()[x.rank() - 3],
            x.strides()[x.rank() - 2]};
  }
};

// A task owns the gradients of one key head of one sample from some of the blocks of queries: every `segments`-th.
struct Task {
  std::int64_t sample, kv_head, segment, segments;
};

// How many tasks share a key head: enough for a few threads where heads are few. Depends on the shape alone.
std::int64_t segments_of(const AttentionHeads& h) {
  const std::int64_t owners = h.samples * h.kv_heads;
  return owners >= 4 ? 1 : std::min<std::int64_t>((3 + owners) / owners, h.blocks() * h.groups());
}

// Σ dO ⊙ O − dlse for a block of queries, 0 where a row is skipped.
template <class T>
void fill_deltas(const Pass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first, std::uint64_t skip,
                 T* delta) {
  const AttentionHeads& x = pass.finite;
  const Tensor& o = pass.output;
  const T* out = o.data<T>() + pass.output_at[static_cast<std::size_t>(b)] + h * o.strides()[o.rank() - 3];
  const auto d_out = pass.d_output_rows(pass.d_output, b, h);
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, x.queries); ++i) {
    T total = 0;
    if ((skip >> (i - first) & 1) == 0) {
      const T* row = out + i * o.strides()[o.rank() - 2];
      total = kernels::dot_row(d_out[i], row, x.value_size);
      if (pass.d_lse != nullptr) total -= pass.d_lse[(b * x.heads + h) * x.queries + i];
    }
    delta[i] = total;
  }
}

// Queries of a block that the vector kernel must leave out: something in them is not finite.
template <class T>
std::uint64_t odd_queries(const Pass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first) {
  const AttentionHeads& x = pass.finite;
  std::uint64_t odd = reached_by_odd_rows<T>(x, b, h, first, pass.q_odd, pass.k_odd, pass.v_odd);
  const std::int64_t row = (b * x.heads + h) * x.queries;
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, x.queries); ++i) {
    const bool overflowed =
        pass.sum[row + i] != 0 && !(std::isfinite(pass.max[row + i]) && std::isfinite(pass.sum[row + i]));
    const bool cotangent = pass.do_odd && pass.do_odd.flags[static_cast<std::size_t>(row + i)] != 0;
    odd |= static_cast<std::uint64_t>(overflowed || cotangent) << (i - first);
  }
  return odd;
}

// dk [keys, padded] and dv of one task; dq of its queries.
template <class T>
void run(const Pass<T>& pass, const Task& task, T* dk, T* dv, T* deltas, T* scratch) {
  const AttentionHeads& x = pass.finite;
  const std::int64_t b = task.sample;
  kernels::AttentionGradients<T> g;
  if (pass.needs_k) g.dk = {dk, kernels::attention_padded<T>(x.size)};
  if (pass.needs_v) g.dv = {dv, kernels::attention_padded<T>(x.value_size)};
  std::int64_t turn = 0;
  for (std::int64_t h = task.kv_head * x.groups(); h < (task.kv_head + 1) * x.groups(); ++h) {
    const kernels::AttentionHead<T> head = x.template head<T>(b, h);
    const kernels::AttentionHead<T> given = pass.given.template head<T>(b, h);
    const std::int64_t row = (b * x.heads + h) * x.queries;
    const kernels::AttentionRows<const T> rows{pass.max + row, pass.sum + row, nullptr, nullptr};
    if (pass.dq != nullptr) {
      const Tensor& dq = pass.gradients.q;
      g.dq = {pass.dq + pass.dq_at[static_cast<std::size_t>(b)] + h * dq.strides()[dq.rank() - 3],
              dq.strides()[dq.rank() - 2]};
    }
    if (pass.logits != nullptr) g.logits = {pass.logits + row * x.keys, x.keys};
    for (std::int64_t block = 0; block < x.blocks(); ++block, ++turn) {
      if (turn % task.segments != task.segment) continue;
      const std::int64_t first = block * kernels::attention_block;
      const std::uint64_t odd = odd_queries(pass, b, h, first);
      fill_deltas(pass, b, h, first, odd, deltas);
      kernels::attention_backward(head, first, rows, pass.d_output_rows(pass.d_output, b, h), deltas, odd, g,
                                  scratch);
      for (std::int64_t i = first; i < first + kernels::attention_block && odd >> (i - first) != 0; ++i) {
        if ((odd >> (i - first) & 1) == 0) continue;
        const T d_lse = pass.d_lse == nullptr ? T(0) : pass.d_lse[row + i];
        kernels::attention_row_backward(given, i, pass.d_output_rows(pass.d_output_given, b, h)[i], d_lse, g);
      }
    }
  }
}

// Rows [.., Hkv, Tk, size] ← the accumulators of all segments of a key head, added in their order.
template <class T>
void store_rows(Tensor& to, T* out, std::int64_t at, std::int64_t kv_head, const T* parts,
                std::int64_t segments, std::int64_t stride, std::int64_t padded) {
  const std::int64_t size = to.size(-1);
  for (std::int64_t j = 0; j < to.size(-2); ++j) {
    T* row = out + at + kv_head * to.strides()[to.rank() - 3] + j * to.strides()[to.rank() - 2];
    std::copy_n(parts + j * padded, size, row);
    for (std::int64_t s = 1; s < segments; ++s) {
      for (std::int64_t c = 0; c < size; ++c) row[c] += parts[s * stride + j * padded + c];
    }
  }
}

template <class T>
void run_all(const Pass<T>& pass, Tensor& dk, Tensor& dv) {
  const AttentionHeads& x = pass.finite;
  const std::int64_t segments = segments_of(x);
  const std::int64_t owners = x.samples * x.kv_heads;
  const std::int64_t wide = kernels::attention_padded<T>(x.size);
  const std::int64_t value_wide = kernels::attention_padded<T>(x.value_size);
  const std::int64_t k_part = pass.needs_k ? x.keys * wide : 0;
  const std::int64_t part = k_part + (pass.needs_v ? x.keys * value_wide : 0);
  const std::int64_t scratch = kernels::attention_scratch(x.size, x.value_size) + x.queries;
  T* dk_out = pass.needs_k ? dk.mutable_data<T>() : nullptr;
  T* dv_out = pass.needs_v ? dv.mutable_data<T>() : nullptr;
  const auto dk_at = sample_offsets(dk);
  const auto dv_at = sample_offsets(dv);

  const auto store = [&](std::int64_t owner, const T* parts) {
    const auto b = static_cast<std::size_t>(owner / x.kv_heads);
    const std::int64_t h = owner % x.kv_heads;
    if (dk_out != nullptr) store_rows(dk, dk_out, dk_at[b], h, parts, segments, part, wide);
    if (dv_out != nullptr) store_rows(dv, dv_out, dv_at[b], h, parts + k_part, segments, part, value_wide);
  };
  const auto work = [&](std::int64_t owner, std::int64_t segment, T* parts) {
    Tensor memory = empty({scratch}, pass.output.dtype());
    T* deltas = memory.mutable_data<T>();
    std::fill_n(parts, part, T(0));
    run(pass, {owner / x.kv_heads, owner % x.kv_heads, segment, segments}, parts, parts + k_part, deltas,
        deltas + x.queries);
  };
  if (segments == 1) {
    parallel_for(owners, 1, [&](std::int64_t begin, std::int64_t end) {
      Tensor parts = empty({part}, pass.output.dtype());
      for (std::int64_t owner = begin; owner < end; ++owner) {
        work(owner, 0, parts.mutable_data<T>());
        store(owner, parts.data<T>());
      }
    });
    return;
  }
  Tensor parts = empty({owners, segments, part}, pass.output.dtype());
  T* data = parts.mutable_data<T>();
  parallel_for(owners * segments, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) work(i / segments, i % segments, data + i * part);
  });
  for (std::int64_t owner = 0; owner < owners; ++owner) store(owner, data + owner * segments * part);
}

// dsink_h = Σ P_sink (dlse − Δ), P_sink = exp(sink − max) / sum
template <class T>
Tensor sink_gradient(const Pass<T>& pass) {
  const AttentionHeads& x = pass.given;
  std::vector<double> total(static_cast<std::size_t>(x.heads), 0.0);
  std::vector<T> delta(static_cast<std::size_t>(x.queries));
  for (std::int64_t b = 0; b < x.samples; ++b) {
    for (std::int64_t h = 0; h < x.heads; ++h) {
      const kernels::AttentionHead<T> head = x.template head<T>(b, h);
      const std::int64_t row = (b * x.heads + h) * x.queries;
      for (std::int64_t first = 0; first < x.queries; first += kernels::attention_block)
        fill_deltas(pass, b, h, first, 0, delta.data());
      for (std::int64_t i = 0; i < x.queries; ++i) {
        if (pass.sum[row + i] == 0) continue;
        const double p = std::exp(static_cast<double>(head.sink) - pass.max[row + i]) / pass.sum[row + i];
        total[static_cast<std::size_t>(h)] -= p * static_cast<double>(delta[static_cast<std::size_t>(i)]);
      }
    }
  }
  Tensor gradient = empty({x.heads}, pass.output.dtype());
  std::transform(total.begin(), total.end(), gradient.mutable_data<T>(),
                 [](double t) { return static_cast<T>(t); });
  return gradient;
}

}  // namespace

namespace {

// `careful`: with zeros in place of what is not finite in the operands, and the queries it should reach one by one.
template <class T>
AttentionGradientTensors gradients_of(bool careful, const AttentionHeads& given,
                                      const std::array<Tensor, 3>& operands, const AttentionRowTensors& rows,
                                      const AttentionCotangents& cotangents) {
  OddRows q_odd, k_odd, v_odd, do_odd;
  const Tensor d_output = with_dense_rows(cotangents.output);
  const AttentionHeads finite =
      careful ? given.with(without_odd_rows(operands[0], q_odd), without_odd_rows(operands[1], k_odd),
                           without_odd_rows(operands[2], v_odd))
              : given;
  const Tensor d_finite = careful ? with_dense_rows(without_odd_rows(d_output, do_odd)) : d_output;
  const Tensor d_given = do_odd ? copy_of(d_output) : d_finite;  // the strides of d_finite
  const Tensor d_lse =
      !cotangents.lse.defined() || cotangents.lse.is_contiguous() ? cotangents.lse : copy_of(cotangents.lse);
  const DType dtype = d_output.dtype();
  const Shape per_query = given.rows_shape();
  Shape per_key = per_query;
  per_key[per_key.rank() - 2] = given.kv_heads;
  per_key[per_key.rank() - 1] = given.keys;
  AttentionGradientTensors g;
  if (cotangents.q) g.q = empty_heads(per_query, given.size, dtype);
  if (cotangents.k) g.k = empty_heads(per_key, given.size, dtype);
  if (cotangents.v) g.v = empty_heads(per_key, given.value_size, dtype);
  if (cotangents.logits) {
    Shape pairs = per_query;
    pairs.push_back(given.keys);
    g.logits = zeros(pairs, dtype);
  }
  const Pass<T> pass{given,
                     finite,
                     d_finite,
                     d_given,
                     sample_offsets(d_finite),
                     sample_offsets(rows.output),
                     rows.output,
                     rows.max.data<T>(),
                     rows.sum.data<T>(),
                     d_lse.defined() ? d_lse.data<T>() : nullptr,
                     q_odd,
                     k_odd,
                     v_odd,
                     do_odd,
                     g,
                     sample_offsets(g.q),
                     cotangents.q ? g.q.mutable_data<T>() : nullptr,
                     cotangents.logits ? g.logits.mutable_data<T>() : nullptr,
                     cotangents.k,
                     cotangents.v};
  run_all(pass, g.k, g.v);
  if (cotangents.sink) g.sink = sink_gradient(pass);
  return g;
}

}  // namespace

AttentionGradientTensors attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                             const AttentionOptions& options, const AttentionMask::Plan& plan,
                                             const AttentionRowTensors& rows,
                                             const AttentionCotangents& cotangents) {
  const AttentionHeads given(q, k, v, options, plan);
  return visit_floating(q.dtype(), [&]<class T>(std::type_identity<T>) {
    AttentionGradientTensors g = gradients_of<T>(false, given, {q, k, v}, rows, cotangents);
    if (all_finite(g.q) && all_finite(g.k) && all_finite(g.v) && all_finite(g.logits) && all_finite(g.sink)) {
      return g;
    }
    return gradients_of<T>(true, given, {q, k, v}, rows, cotangents);
  });
}

}  // namespace heed::detail
