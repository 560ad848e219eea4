#include <algorithm>
#include <atomic>
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
struct BackwardPass {
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
KeySums key_sums(const BackwardPass<T>& pass) {
  const AttentionHeads& x = pass.given;
  KeySums sums{.width = kernels::attention_padded<T>(x.size),
               .value_width = kernels::attention_padded<T>(x.value_size)};
  sums.dv_at = pass.dk.data != nullptr ? x.keys * sums.width : 0;
  sums.elements = sums.dv_at + (pass.dv.data != nullptr ? x.keys * sums.value_width : 0);
  return sums;
}

// One bit per query of a block: set if a value that is not finite reaches the query.
template <class T>
std::uint64_t nonfinite_queries(const BackwardPass<T>& pass, std::int64_t b, std::int64_t h,
                                std::int64_t first) {
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
kernels::AttentionGradients<T> gradients_of_head(const BackwardPass<T>& pass, const KeySums& layout,
                                                 std::int64_t b, std::int64_t h, T* sums) {
  kernels::AttentionGradients<T> g;
  if (pass.dq.data != nullptr) g.dq = {pass.dq.head(b, h), pass.dq.row_stride};
  if (pass.dk.data != nullptr) g.dk = {sums, layout.width};
  if (pass.dv.data != nullptr) g.dv = {sums + layout.dv_at, layout.value_width};
  if (pass.logits != nullptr) {
    g.logits = {pass.logits + pass.given.query_row(b, h) * pass.given.keys, pass.given.keys};
  }
  return g;
}

// What one block of queries contributes to all gradients. False if some dQ is not finite.
template <class T>
bool run_block(const BackwardPass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first,
               const kernels::AttentionGradients<T>& g, const kernels::AttentionNext<T>& next, T* scratch) {
  const std::int64_t row = pass.given.query_row(b, h);
  const std::uint64_t nonfinite = nonfinite_queries(pass, b, h, first);
  const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(b, h);
  const kernels::AttentionCotangents<T> cotangents{
      .output = {pass.d_output.head(b, h), pass.d_output.row_stride},
      .lse = pass.d_lse == nullptr ? nullptr : pass.d_lse + row};
  const bool finite = kernels::attention_backward<T>(
      head, first, {.max = pass.max + row, .sum = pass.sum + row},
      {pass.output.head(b, h), pass.output.row_stride}, cotangents, nonfinite, g, next, scratch);
  if (nonfinite == 0) return finite;
  const kernels::AttentionHead<T> given = pass.given.template head<T>(b, h);
  const T* d_output = pass.d_output_given.head(b, h);
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, pass.given.queries); ++i) {
    if ((nonfinite >> (i - first) & 1) == 0) continue;
    kernels::attention_row_backward(given, i, d_output + i * pass.d_output_given.row_stride,
                                    pass.d_lse_of(row + i), g);
  }
  return finite;
}

// What the block of queries after this one reads first: of the same head, or the first one of `sample`, `h`.
template <class T>
void add_queries(const BackwardPass<T>& pass, std::int64_t b, std::int64_t h, std::int64_t first,
                 kernels::AttentionNext<T>& next) {
  const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(b, h);
  const std::int64_t count = std::min(kernels::attention_block, head.queries - first);
  next.add({pass.output.head(b, h) + first * pass.output.row_stride, pass.output.row_stride}, count,
           head.value_size);
  next.add({pass.d_output.head(b, h) + first * pass.d_output.row_stride, pass.d_output.row_stride}, count,
           head.value_size);
  next.add({head.q[first], head.q.stride}, count, head.size);
}

// Where dK and dV of a key head go.
template <class T>
kernels::Rows<T> rows_of(const HeadRows<T>& to, const Task& task) {
  if (to.data == nullptr) return {};
  return {to.head(task.sample, task.kv_head), to.row_stride};
}

// What is read or written after a block: behind the last block of a task the results of its key head and the
// first rows of the key head that comes next, if there is one.
template <class T>
kernels::AttentionNext<T> rows_after(const BackwardPass<T>& pass, const Task& task, const Task* following,
                                     std::int64_t h, std::int64_t block) {
  const AttentionHeads& x = pass.given;
  kernels::AttentionNext<T> next;
  if (block < x.blocks()) {
    add_queries(pass, task.sample, h, block * kernels::attention_block, next);
    return next;
  }
  if (following != nullptr) {
    const std::int64_t keys = std::min(kernels::attention_block, x.keys);
    const std::int64_t first = following->kv_head * x.groups();
    const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(following->sample, first);
    next.add(head.v, keys, x.value_size);
    next.add(head.k, keys, x.size);
    add_queries(pass, following->sample, first, 0, next);
  }
  const auto result = [&](const HeadRows<T>& to, std::int64_t size) {
    const kernels::Rows<T> rows = rows_of(to, task);
    next.add({rows.data, rows.stride}, to.data == nullptr ? 0 : x.keys, size);
  };
  result(pass.dv, x.value_size);
  result(pass.dk, x.size);
  return next;
}

// Fills `sums` with dK and dV of a task. dq and the logits' gradients of its queries go straight to the
// results, as no other task has these queries. False if some dQ is not finite.
template <class T>
bool run_task(const BackwardPass<T>& pass, const Task& task, const Task* following, const KeySums& layout,
              T* sums, T* scratch) {
  const AttentionHeads& x = pass.given;
  std::fill_n(sums, layout.elements, T(0));
  std::int64_t turn = 0;
  bool finite = true;
  for (std::int64_t h = task.kv_head * x.groups(); h < (task.kv_head + 1) * x.groups(); ++h) {
    const kernels::AttentionGradients<T> g = gradients_of_head(pass, layout, task.sample, h, sums);
    for (std::int64_t block = 0; block < x.blocks(); ++block, ++turn) {
      if (turn % task.segments != task.segment) continue;
      const kernels::AttentionNext<T> next = rows_after(pass, task, following, h, block + task.segments);
      finite &= run_block(pass, task.sample, h, block * kernels::attention_block, g, next, scratch);
    }
  }
  return finite;
}

// Writes dK and dV of a key head: the sums of its tasks. False if they are not finite.
template <class T>
bool store_keys(const BackwardPass<T>& pass, const KeySums& layout, const Task& task, const T* sums) {
  const AttentionHeads& x = pass.given;
  const auto store = [&](const HeadRows<T>& to, std::int64_t size, const T* from, std::int64_t width) {
    return to.data == nullptr || kernels::attention_add_segments<T>(rows_of(to, task), x.keys, size, from,
                                                                    width, task.segments, layout.elements);
  };
  const bool dk = store(pass.dk, x.size, sums, layout.width);
  return store(pass.dv, x.value_size, sums + layout.dv_at, layout.value_width) && dk;
}

// One task a key head: a buffer of sums for each thread, reused. False if dQ, dK or dV is not finite.
template <class T>
bool run_owners(const BackwardPass<T>& pass, const KeySums& layout, std::int64_t scratch) {
  const AttentionHeads& x = pass.given;
  const auto task = [&](std::int64_t owner) {
    return Task{.sample = owner / x.kv_heads, .kv_head = owner % x.kv_heads, .segment = 0, .segments = 1};
  };
  std::atomic<bool> finite{true};
  parallel_for(x.samples * x.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    Tensor memory = empty({layout.elements + scratch}, x.dtype());
    T* sums = memory.mutable_data<T>();
    for (std::int64_t owner = begin; owner < end; ++owner) {
      const Task own = task(owner), following = task(owner + 1);
      const bool dq =
          run_task(pass, own, owner + 1 < end ? &following : nullptr, layout, sums, sums + layout.elements);
      if (!store_keys(pass, layout, own, sums) || !dq) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite.load(std::memory_order_relaxed);
}

// Several tasks a key head, whose sums are added at the end. False if dQ, dK or dV is not finite.
template <class T>
bool run_segments(const BackwardPass<T>& pass, const KeySums& layout, std::int64_t scratch,
                  std::int64_t segments) {
  const AttentionHeads& x = pass.given;
  const std::int64_t owners = x.samples * x.kv_heads;
  const auto task = [&](std::int64_t i) {
    const std::int64_t owner = i / segments;
    return Task{.sample = owner / x.kv_heads,
                .kv_head = owner % x.kv_heads,
                .segment = i % segments,
                .segments = segments};
  };
  Tensor sums = empty({owners, segments, layout.elements}, x.dtype());
  T* data = sums.mutable_data<T>();
  std::atomic<bool> dq_finite{true};
  parallel_for(owners * segments, 1, [&](std::int64_t begin, std::int64_t end) {
    Tensor memory = empty({scratch}, x.dtype());
    for (std::int64_t i = begin; i < end; ++i) {
      if (!run_task<T>(pass, task(i), nullptr, layout, data + i * layout.elements,
                       memory.mutable_data<T>())) {
        dq_finite.store(false, std::memory_order_relaxed);
      }
    }
  });
  bool finite = dq_finite.load(std::memory_order_relaxed);
  for (std::int64_t owner = 0; owner < owners; ++owner) {
    finite &= store_keys(pass, layout, task(owner * segments), data + owner * segments * layout.elements);
  }
  return finite;
}

// dsink_h = Σ P_sink (dlse − Δ), P_sink = exp(sink − max) / sum
template <class T>
Tensor sink_gradient(const BackwardPass<T>& pass) {
  const AttentionHeads& x = pass.given;
  std::vector<double> total(static_cast<std::size_t>(x.heads), 0.0);
  for (std::int64_t b = 0; b < x.samples; ++b) {
    for (std::int64_t h = 0; h < x.heads; ++h) {
      const kernels::AttentionHead<T> head = x.template head<T>(b, h);
      for (std::int64_t i = 0; i < x.queries; ++i) {
        const std::int64_t row = x.query_row(b, h, i);
        if (pass.sum[row] == 0) continue;
        const T delta = kernels::dot_row(pass.d_output.head(b, h) + i * pass.d_output.row_stride,
                                         pass.output.head(b, h) + i * pass.output.row_stride, x.value_size) -
                        pass.d_lse_of(row);
        const double p = std::exp(static_cast<double>(head.sink) - pass.max[row]) / pass.sum[row];
        total[static_cast<std::size_t>(h)] -= p * static_cast<double>(delta);
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
                              const Tensor& d_lse, const BlockedNeeds& needs, bool& finite) {
  BlockedGradients g = empty_gradients(given, needs);
  const auto read = [](const Tensor& x) { return x.defined() ? x.data<T>() : nullptr; };
  const auto written = [](Tensor& x) { return head_rows<T>(x, x.defined() ? x.mutable_data<T>() : nullptr); };
  const BackwardPass<T> pass{.given = given,
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
  const KeySums layout = key_sums(pass);
  const std::int64_t segments = segments_of(given);
  const std::int64_t scratch = kernels::attention_backward_scratch(given.size, given.value_size);
  finite = segments == 1 ? run_owners(pass, layout, scratch) : run_segments(pass, layout, scratch, segments);
  if (needs.sink) g.sink = sink_gradient(pass);
  finite = finite && all_finite(g.logits) && all_finite(g.sink);
  return g;
}

}  // namespace

BlockedGradients blocked_backward(const AttentionHeads& heads, const BlockedSaved& saved,
                                  const BlockedCotangents& cotangents, const BlockedNeeds& needs) {
  const kernels::FlushSubnormals flush(heads.dtype() == DType::f32);
  const Tensor d_lse =
      !cotangents.lse.defined() || cotangents.lse.is_contiguous() ? cotangents.lse : copy_of(cotangents.lse);
  return visit_floating(heads.dtype(), [&]<class T>(std::type_identity<T>) {
    bool finite = true;
    BlockedGradients g =
        gradients_of<T>(heads, as_given(heads, cotangents.output), saved, d_lse, needs, finite);
    if (finite) return g;
    // Rare: everything is computed again, so that NaN and infinities reach only what is open to them.
    return gradients_of<T>(heads, without_nonfinite(heads, cotangents.output), saved, d_lse, needs, finite);
  });
}

}  // namespace heed::detail
