#include <algorithm>
#include <atomic>

#include <heed/core/elements.h>
#include <heed/core/parallel.h>
#include <heed/ops/attention/form/blocked_forward.h>
#include <heed/ops/attention/form/nonfinite_rows.h>
#include <heed/ops/attention/kernels/forward.h>
#include <heed/ops/attention/kernels/scalar_row.h>
#include <heed/ops/attention/kernels/single_query.h>
#include <heed/ops/kernels/flush_subnormals.h>

namespace heed::detail {
namespace {

// Everything that the tasks of one forward pass share.
template <class T>
struct ForwardPass {
  const AttentionHeads& given;  // operands as they were given
  FiniteOperands finite;        // the same as the block kernels see them
  HeadRows<T> output;
  T* weights;                             // may be null
  T *max, *sum, *moment, *largest_logit;  // the last two may be null
};

// 64 queries of a head, and where their results go.
template <class T>
struct Block {
  std::int64_t sample = 0, h = 0, first = 0;
  kernels::Rows<T> output = {}, weights = {};  // of the whole head
  kernels::AttentionRows<T> rows = {};         // of the whole head
};

template <class T>
Block<T> block_of(const ForwardPass<T>& pass, std::int64_t sample, std::int64_t h, std::int64_t first) {
  const AttentionHeads& x = pass.given;
  const std::int64_t row = x.query_row(sample, h);
  const auto of_head = [&](T* per_query) { return per_query == nullptr ? nullptr : per_query + row; };
  Block<T> block{.sample = sample, .h = h, .first = first};
  block.output = {pass.output.head(sample, h), pass.output.row_stride};
  if (pass.weights != nullptr) block.weights = {pass.weights + row * x.keys, x.keys};
  block.rows = {.max = of_head(pass.max),
                .sum = of_head(pass.sum),
                .moment = of_head(pass.moment),
                .largest_logit = of_head(pass.largest_logit)};
  return block;
}

// Returns one bit per query: set if a value that is not finite reaches the query.
template <class T>
std::uint64_t run_block(const ForwardPass<T>& pass, const Block<T>& block,
                        const kernels::AttentionNext<T>& next, T* scratch) {
  const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(block.sample, block.h);
  std::uint64_t nonfinite = pass.finite.template reached<T>(block.sample, block.h, block.first);
  if (head.queries == 1) {
    nonfinite |= kernels::attention_query(head, block.output, block.rows, scratch) ? 0 : 1;
  } else {
    nonfinite |= kernels::attention_forward(head, block.first, block.output, block.rows, next, scratch);
  }
  if (pass.weights != nullptr) {
    kernels::attention_weights(head, block.first, block.rows, block.weights, scratch);
  }
  return nonfinite;
}

// Computes these queries again, one by one and from the operands as they were given.
template <class T>
void redo_queries(const ForwardPass<T>& pass, const Block<T>& block, std::uint64_t queries) {
  const kernels::AttentionHead<T> head = pass.given.template head<T>(block.sample, block.h);
  for (std::int64_t i = 0; i < kernels::attention_block; ++i) {
    if ((queries >> i & 1) == 0) continue;
    kernels::attention_row_forward(head, block.first + i, block.output, block.rows, block.weights);
  }
}

// The order in which the blocks of a head are shared out: first, last, second, last but one, … Under a causal
// mask later blocks are more work. In this order two neighbours add up to about the same, so equal parts of
// the list are equal work.
std::int64_t balanced_block(std::int64_t i, std::int64_t blocks) {
  return i % 2 == 0 ? i / 2 : blocks - 1 - i / 2;
}

// How many blocks of queries are worth waking a thread for.
std::int64_t blocks_per_chunk(const AttentionHeads& x) {
  const std::int64_t work = std::min(kernels::attention_block, x.queries) * x.keys * (x.size + x.value_size);
  return std::max<std::int64_t>(1, (std::int64_t{1} << 18) / work);
}

// What a block reads first: its queries, and the first keys and values if those are of another head.
template <class T>
kernels::AttentionNext<T> first_rows(const ForwardPass<T>& pass, const Block<T>& block, bool new_keys) {
  const kernels::AttentionHead<T> head = pass.finite.heads.template head<T>(block.sample, block.h);
  kernels::AttentionNext<T> next;
  if (new_keys) {
    const std::int64_t keys = std::min(kernels::attention_block, head.keys);
    next.add(head.v, keys, head.value_size);
    next.add(head.k, keys, head.size);
  }
  next.add({head.q[block.first], head.q.stride},
           std::min(kernels::attention_block, head.queries - block.first), head.size);
  return next;
}

// Calls body(block, next, scratch) for each block of queries.
template <class T, class Body>
void for_blocks(const ForwardPass<T>& pass, Body&& body) {
  const AttentionHeads& x = pass.given;
  const std::int64_t blocks = x.blocks();
  const std::int64_t of_query =
      x.queries == 1 ? kernels::attention_query_scratch(x.keys, x.size, x.value_size) : 0;
  const std::int64_t scratch = std::max(kernels::attention_forward_scratch(x.size, x.value_size), of_query);
  const auto block_at = [&](std::int64_t i) {
    const std::int64_t head = i / blocks;
    return block_of(pass, head / x.heads, head % x.heads,
                    balanced_block(i % blocks, blocks) * kernels::attention_block);
  };
  parallel_for(x.samples * x.heads * blocks, blocks_per_chunk(x), [&](std::int64_t begin, std::int64_t end) {
    Tensor memory = empty({scratch}, x.dtype());
    for (std::int64_t i = begin; i < end; ++i) {
      kernels::AttentionNext<T> next;
      if (x.queries > 1 && i + 1 < end) next = first_rows(pass, block_at(i + 1), (i + 1) % blocks == 0);
      body(block_at(i), next, memory.mutable_data<T>());
    }
  });
}

template <class T>
void run_all(const AttentionHeads& given, BlockedForward& results) {
  const auto data = [](Tensor& x) { return x.defined() ? x.mutable_data<T>() : nullptr; };
  ForwardPass<T> pass{.given = given,
                      .finite = {.heads = given},
                      .output = head_rows(results.output, data(results.output)),
                      .weights = data(results.weights),
                      .max = data(results.max),
                      .sum = data(results.sum),
                      .moment = data(results.moment),
                      .largest_logit = data(results.largest_logit)};
  std::atomic<bool> all_finite{true};
  for_blocks(pass, [&](const Block<T>& block, const kernels::AttentionNext<T>& next, T* scratch) {
    if (run_block(pass, block, next, scratch) != 0) all_finite.store(false, std::memory_order_relaxed);
  });
  if (all_finite.load(std::memory_order_relaxed)) return;

  // Rare: everything is computed again, so that NaN and infinities reach only what is open to them.
  pass.finite = with_zeros_in_nonfinite_rows(given);
  for_blocks(pass, [&](const Block<T>& block, const kernels::AttentionNext<T>& next, T* scratch) {
    redo_queries(pass, block, run_block(pass, block, next, scratch));
  });
}

}  // namespace

BlockedForward blocked_forward(const AttentionHeads& heads, bool need_weights, bool need_statistics) {
  const Shape per_query = heads.query_shape();
  const DType dtype = heads.dtype();
  const kernels::FlushSubnormals flush(dtype == DType::f32);
  BlockedForward results{.output = empty_heads(per_query, heads.value_size, dtype),
                         .weights = need_weights ? empty(heads.pair_shape(), dtype) : Tensor(),
                         .max = empty(per_query, dtype),
                         .sum = empty(per_query, dtype),
                         .moment = need_statistics ? empty(per_query, dtype) : Tensor(),
                         .largest_logit = need_statistics ? empty(per_query, dtype) : Tensor()};
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) { run_all<T>(heads, results); });
  return results;
}

}  // namespace heed::detail
