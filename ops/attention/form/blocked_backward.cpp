#include <algorithm>
#include <cmath>

#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/attention/form/blocked_backward.h>
#include <heed/ops/attention/form/nonfinite_rows.h>
#include <heed/ops/attention/kernels/backward.h>
#include <heed/ops/attention/kernels/dot_row.h>
#include <heed/ops/attention/kernels/scalar_row.h>
#include <heed/ops/kernels/flush_subnormals.h>

namespace heed::detail {
namespace {

// Everything that the tasks of one backward pass share.
template <class T>
struct Pass {
  const AttentionHeads& given;   // operands as they were given
  const FiniteOperands& finite;  // the same as the block kernels see them
  const NonfiniteRows& d_output_nonfinite;
  HeadRows<const T> d_output_given, d_output;  // as given; as the block kernels see it
  HeadRows<const T> output;
  const T *max, *sum;
  const T* d_lse;          // may be null
  HeadRows<T> dq, dk, dv;  // absent if not asked for
  T* logits;               // may be null

  T d_lse_of(std::int64_t row) const { return d_lse == nullptr ? T(0) : d_lse[row]; }
};

// One task adds up the gradients of one key head of one sample, from every `segments`-th block of queries. So
// a segment is not a run of neighbouring queries; under a causal mask such runs would be unequal work.
struct Task {
  std::int64_t sample, kv_head, segment, segments;
};

// How many tasks share a key head. One, unless there are fewer than four key heads: then enough for four
// tasks in all, if there are that many blocks. Depends on the shape alone, so that the sums have the same
// bits under any number of threads.
std::int64_t segments_of(const AttentionHeads& h) {
  const std::int64_t owners = h.samples * h.kv_heads;
  return owners >= 4 ? 1 : std::min<std::int64_t>((3 + owners) / owners, h.blocks() * h.groups());
}

// A task's own sums of dK and dV, in rows padded to whole vectors.
// Offsets are in elements; 0 where not asked for.
struct KeySums {
  std::int64_t width = 0, value_width = 0;  // of a row
  std::int64_t dv_at = 0;                   // dV starts here, after dK
  std::int64_t elements = 0;
};

template <class T>
KeySums key_sums(const Pass<T>& pass) {
  const AttentionHeads& x = pass.given;
  KeySums sums{.width = kernels::attention_padded<T>(x.size),
               .value_width = kernels::attention_padded<T>(x.value_size)};
  sums.dv_at = pass.dk.data != nullptr ? x.keys * sums.width : 0;
  sums.elements = sums.dv_at + (pass.dv.data != nullptr ? x.keys * sums.value_width : 0);
  return sums;
}

// delta = Σ dO ⊙ O − dlse of a block of queries, 0 where a query is skipped.
template <class T>
void fill_deltas(const Pass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first, std::uint64_t skip,
                 T* delta) {
  const AttentionHeads& x = pass.given;
  const T* output = pass.output.head(b, h);
  const T* d_output = pass.d_output.head(b, h);
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, x.queries); ++i) {
    delta[i] = 0;
    if ((skip >> (i - first) & 1) != 0) continue;
    delta[i] = kernels::dot_row(d_output + i * pass.d_output.row_stride, output + i * pass.output.row_stride,
                                x.value_size);
    if (pass.d_lse != nullptr) delta[i] -= pass.d_lse[x.query_row(b, h, i)];
  }
}

// One bit per query of a block: set if a value that is not finite reaches the query.
template <class T>
std::uint64_t nonfinite_queries(const Pass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first) {
  const AttentionHeads& x = pass.given;
  std::uint64_t queries = pass.finite.template reached<T>(b, h, first);
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, x.queries); ++i) {
    const std::int64_t row = x.query_row(b, h, i);
    const bool overflowed =
        pass.sum[row] != 0 && !(std::isfinite(pass.max[row]) && std::isfinite(pass.sum[row]));
    const bool nonfinite = overflowed || pass.d_output_nonfinite.contains(row);
    queries |= static_cast<std::uint64_t>(nonfinite) << (i - first);
  }
  return queries;
}

// Where the gradients of one query head go: dq and logits to the results, dk and dv to the sums of a task.
template <class T>
kernels::AttentionGradients<T> gradients_of_head(const Pass<T>& pass, const KeySums& layout, std::int64_t b,
                                                 std::int64_t h, T* sums) {
  kernels::AttentionGradients<T> g;
  if (pass.dq.data != nullptr) g.dq = {pass.dq.head(b, h), pass.dq.row_stride};
  if (pass.dk.data != nullptr) g.dk = {sums, layout.width};
  if (pass.dv.data != nullptr) g.dv = {sums + layout.dv_at, layout.value_width};
  if (pass.logits != nullptr) {
    g.logits = {pass.logits + pass.given.query_row(b, h) * pass.given.keys, pass.given.keys};
  }
  return g;
}

// What one block of queries contributes to all gradients.
template <class T>
void run_block(const Pass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first,
               const kernels::AttentionGradients<T>& g, T* deltas, T* scratch) {
  const std::int64_t row = pass.given.query_row(b, h);
  const std::uint64_t nonfinite = nonfinite_queries(pass, b, h, first);
  fill_deltas(pass, b, h, first, nonfinite, deltas);
  const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(b, h);
  const kernels::AttentionCotangents<T> cotangents{
      .output = {pass.d_output.head(b, h), pass.d_output.row_stride},
      .lse = pass.d_lse == nullptr ? nullptr : pass.d_lse + row,
      .delta = deltas};
  kernels::attention_backward<T>(head, first, {.max = pass.max + row, .sum = pass.sum + row}, cotangents,
                                 nonfinite, g, scratch);
  if (nonfinite == 0) return;
  const kernels::AttentionHead<T> given = pass.given.template head<T>(b, h);
  const T* d_output = pass.d_output_given.head(b, h);
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, pass.given.queries); ++i) {
    if ((nonfinite >> (i - first) & 1) == 0) continue;
    kernels::attention_row_backward(given, i, d_output + i * pass.d_output_given.row_stride,
                                    pass.d_lse_of(row + i), g);
  }
}

// Fills `sums` with dK and dV of a task. dq and the logits' gradients of its queries go straight to the
// results, as no other task has these queries.
template <class T>
void run_task(const Pass<T>& pass, const Task& task, const KeySums& layout, T* sums) {
  const AttentionHeads& x = pass.given;
  std::fill_n(sums, layout.elements, T(0));
  Tensor memory = empty({x.queries + kernels::attention_backward_scratch(x.size, x.value_size)}, x.dtype());
  T* deltas = memory.mutable_data<T>();
  std::int64_t turn = 0;
  for (std::int64_t h = task.kv_head * x.groups(); h < (task.kv_head + 1) * x.groups(); ++h) {
    const kernels::AttentionGradients<T> g = gradients_of_head(pass, layout, task.sample, h, sums);
    for (std::int64_t block = 0; block < x.blocks(); ++block, ++turn) {
      if (turn % task.segments != task.segment) continue;
      run_block(pass, task.sample, h, block * kernels::attention_block, g, deltas, deltas + x.queries);
    }
  }
}

// Rows [keys, size] of a head ← the sums of all segments, added in the order of the segments.
template <class T>
void add_segments(const HeadRows<T>& to, std::int64_t b, std::int64_t kv_head, std::int64_t keys,
                  std::int64_t size, const T* sums, std::int64_t width, std::int64_t segments,
                  std::int64_t stride) {
  for (std::int64_t j = 0; j < keys; ++j) {
    T* row = to.head(b, kv_head) + j * to.row_stride;
    std::copy_n(sums + j * width, size, row);
    for (std::int64_t s = 1; s < segments; ++s) {
      for (std::int64_t c = 0; c < size; ++c) row[c] += sums[s * stride + j * width + c];
    }
  }
}

template <class T>
void store_keys(const Pass<T>& pass, const KeySums& layout, std::int64_t owner, std::int64_t segments,
                const T* sums) {
  const AttentionHeads& x = pass.given;
  const std::int64_t b = owner / x.kv_heads, h = owner % x.kv_heads;
  if (pass.dk.data != nullptr) {
    add_segments(pass.dk, b, h, x.keys, x.size, sums, layout.width, segments, layout.elements);
  }
  if (pass.dv.data != nullptr) {
    add_segments(pass.dv, b, h, x.keys, x.value_size, sums + layout.dv_at, layout.value_width, segments,
                 layout.elements);
  }
}

template <class T>
void run_all(const Pass<T>& pass) {
  const AttentionHeads& x = pass.given;
  const KeySums layout = key_sums(pass);
  const std::int64_t segments = segments_of(x), owners = x.samples * x.kv_heads;
  const auto task = [&](std::int64_t owner, std::int64_t segment) {
    return Task{.sample = owner / x.kv_heads,
                .kv_head = owner % x.kv_heads,
                .segment = segment,
                .segments = segments};
  };
  if (segments == 1) {  // one buffer of sums per thread, reused for each key head
    parallel_for(owners, 1, [&](std::int64_t begin, std::int64_t end) {
      Tensor sums = empty({layout.elements}, x.dtype());
      for (std::int64_t owner = begin; owner < end; ++owner) {
        run_task(pass, task(owner, 0), layout, sums.mutable_data<T>());
        store_keys(pass, layout, owner, 1, sums.data<T>());
      }
    });
    return;
  }
  Tensor sums = empty({owners, segments, layout.elements}, x.dtype());
  T* data = sums.mutable_data<T>();
  parallel_for(owners * segments, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      run_task(pass, task(i / segments, i % segments), layout, data + i * layout.elements);
  });
  for (std::int64_t owner = 0; owner < owners; ++owner)
    store_keys(pass, layout, owner, segments, data + owner * segments * layout.elements);
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
      const std::int64_t row = x.query_row(b, h);
      for (std::int64_t first = 0; first < x.queries; first += kernels::attention_block)
        fill_deltas(pass, b, h, first, 0, delta.data());
      for (std::int64_t i = 0; i < x.queries; ++i) {
        if (pass.sum[row + i] == 0) continue;
        const double p = std::exp(static_cast<double>(head.sink) - pass.max[row + i]) / pass.sum[row + i];
        total[static_cast<std::size_t>(h)] -= p * static_cast<double>(delta[static_cast<std::size_t>(i)]);
      }
    }
  }
  Tensor gradient = empty({x.heads}, x.dtype());
  std::transform(total.begin(), total.end(), gradient.mutable_data<T>(),
                 [](double t) { return static_cast<T>(t); });
  return gradient;
}

BlockedGradients empty_gradients(const AttentionHeads& x, const BlockedNeeds& needs) {
  const DType dtype = x.dtype();
  return {.q = needs.q ? empty_heads(x.query_shape(), x.size, dtype) : Tensor(),
          .k = needs.k ? empty_heads(x.key_shape(), x.size, dtype) : Tensor(),
          .v = needs.v ? empty_heads(x.key_shape(), x.value_size, dtype) : Tensor(),
          .logits = needs.logits ? zeros(x.pair_shape(), dtype) : Tensor(),
          .sink = {}};
}

// What the block kernels see: operands and output cotangent, as given or with zeros in nonfinite rows.
struct Seen {
  FiniteOperands operands;
  Tensor d_output, d_output_given;  // with dense rows
  NonfiniteRows d_output_nonfinite = {};
};

Seen as_given(const AttentionHeads& given, const Tensor& d_output) {
  const Tensor dense = with_dense_rows(d_output);
  return {.operands = {.heads = given}, .d_output = dense, .d_output_given = dense};
}

Seen without_nonfinite(const AttentionHeads& given, const Tensor& d_output) {
  const Tensor dense = with_dense_rows(d_output);
  Seen seen{.operands = with_zeros_in_nonfinite_rows(given), .d_output = {}, .d_output_given = dense};
  seen.d_output = with_zeros_in_nonfinite_rows(dense, seen.d_output_nonfinite);
  return seen;
}

template <class T>
BlockedGradients gradients_of(const AttentionHeads& given, const Seen& seen, const BlockedSaved& saved,
                              const Tensor& d_lse, const BlockedNeeds& needs) {
  BlockedGradients g = empty_gradients(given, needs);
  const auto read = [](const Tensor& x) { return x.defined() ? x.data<T>() : nullptr; };
  const auto written = [](Tensor& x) { return head_rows<T>(x, x.defined() ? x.mutable_data<T>() : nullptr); };
  const Pass<T> pass{.given = given,
                     .finite = seen.operands,
                     .d_output_nonfinite = seen.d_output_nonfinite,
                     .d_output_given = head_rows(seen.d_output_given, read(seen.d_output_given)),
                     .d_output = head_rows(seen.d_output, read(seen.d_output)),
                     .output = head_rows(saved.output, read(saved.output)),
                     .max = read(saved.max),
                     .sum = read(saved.sum),
                     .d_lse = read(d_lse),
                     .dq = written(g.q),
                     .dk = written(g.k),
                     .dv = written(g.v),
                     .logits = g.logits.defined() ? g.logits.mutable_data<T>() : nullptr};
  run_all(pass);
  if (needs.sink) g.sink = sink_gradient(pass);
  return g;
}

bool are_finite(const BlockedGradients& g) {
  return all_finite(g.q) && all_finite(g.k) && all_finite(g.v) && all_finite(g.logits) && all_finite(g.sink);
}

}  // namespace

BlockedGradients blocked_backward(const AttentionHeads& heads, const BlockedSaved& saved,
                                  const BlockedCotangents& cotangents, const BlockedNeeds& needs) {
  const kernels::FlushSubnormals flush(heads.dtype() == DType::f32);
  const Tensor d_lse =
      !cotangents.lse.defined() || cotangents.lse.is_contiguous() ? cotangents.lse : copy_of(cotangents.lse);
  return visit_floating(heads.dtype(), [&]<class T>(std::type_identity<T>) {
    BlockedGradients g = gradients_of<T>(heads, as_given(heads, cotangents.output), saved, d_lse, needs);
    if (are_finite(g)) return g;
    // Rare: everything is computed again, so that NaN and infinities reach only what is open to them.
    return gradients_of<T>(heads, without_nonfinite(heads, cotangents.output), saved, d_lse, needs);
  });
}

}  // namespace heed::detail
