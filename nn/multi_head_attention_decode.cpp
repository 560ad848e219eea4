#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/nn/multi_head_attention.h>

namespace heed::nn {
namespace {

using Lengths = std::vector<std::int64_t>;

bool all_equal(const Lengths& lengths) {
  return std::equal(lengths.begin() + 1, lengths.end(), lengths.begin());
}

// Positions of the next `tokens` tokens: [T] where all samples have one length, else [B, T].
Tensor next_positions(const Lengths& starts, std::int64_t tokens) {
  if (all_equal(starts)) return arange(starts[0], starts[0] + tokens);
  Tensor positions = zeros({static_cast<std::int64_t>(starts.size()), tokens}, DType::i64);
  std::int64_t* data = positions.mutable_data<std::int64_t>();
  for (const std::int64_t start : starts) {
    for (std::int64_t i = 0; i < tokens; ++i) *data++ = start + i;
  }
  return positions;
}

Tensor tensor_of(const Lengths& lengths) {
  return from_span<std::int64_t>(lengths, {static_cast<std::int64_t>(lengths.size())});
}

}  // namespace

KVCache MultiHeadAttention::make_cache(std::int64_t batch, std::int64_t capacity) const {
  return KVCache({.batch = batch,
                  .num_kv_heads = options_.num_kv_heads,
                  .head_dim = options_.head_dim,
                  .capacity = capacity,
                  .dtype = out.weight.dtype()});
}

Tensor MultiHeadAttention::decode(const Tensor& x, KVCache& cache, std::span<const std::int64_t> counts,
                                  const AttentionMask& mask) const {
  const Scope scope = enter();
  if (training()) fail<ValueError>(name(), "decode in training mode", {}, "eval()");
  if (!qkv.packed()) {
    fail<ValueError>(name(), "decode of other key and value inputs",
                     fmt::format("kdim is {} and vdim is {}", options_.kdim, options_.vdim),
                     fmt::format("embed_dim, {}", options_.embed_dim));
  }
  check_rank(name(), "x", x, 3, 3);
  Heads heads = project(x, x, x);
  const Lengths starts = cache.lengths();
  const std::int64_t tokens = x.size(1);
  const Tensor positions = next_positions(starts, tokens);
  heads.query = rotated(heads.query, positions);
  cache.append(rotated(heads.key, positions), heads.value, counts);
  heads.key = cache.keys();
  heads.value = cache.values();
  const AttentionMask kept = AttentionMask::causal().query_start(tensor_of(starts)) &
                             AttentionMask::key_lengths(tensor_of(cache.lengths()));
  try {
    return attend(std::move(heads), windowed(mask & kept), nullptr, false).output;
  } catch (...) {  // a mask that does not fit
    cache.truncate(starts);
    throw;
  }
}

}  // namespace heed::nn
