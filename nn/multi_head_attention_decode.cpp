#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/scope.h>
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

// [B, 1, T, Tk], true where key j of sample b is no later than query i at starts[b] + i, lies in its window and belongs
// to the ends[b] tokens that are kept.
Tensor open_keys(const Lengths& starts, const Lengths& ends, std::int64_t tokens, std::int64_t left) {
  const std::int64_t keys = *std::max_element(ends.begin(), ends.end());
  Tensor open = zeros({static_cast<std::int64_t>(starts.size()), 1, tokens, keys}, DType::boolean);
  bool* row = open.mutable_data<bool>();
  for (std::size_t b = 0; b < starts.size(); ++b) {
    for (std::int64_t i = 0; i < tokens; ++i, row += keys) {
      const std::int64_t position = starts[b] + i;
      const std::int64_t end = std::min(position + 1, ends[b]);
      const std::int64_t begin = left < 0 ? 0 : std::clamp<std::int64_t>(position - left, 0, end);
      std::fill(row + begin, row + end, true);
    }
  }
  return open;
}

}  // namespace

KVCache MultiHeadAttention::make_cache(std::int64_t batch, std::int64_t capacity) const {
  return KVCache({.batch = batch,
                  .num_kv_heads = options_.num_kv_heads,
                  .head_dim = options_.head_dim,
                  .capacity = capacity,
                  .dtype = out.weight.dtype()});
}

Tensor MultiHeadAttention::decode(const Tensor& x, KVCache& cache,
                                  std::span<const std::int64_t> counts) const {
  const Scope scope(name());
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
  heads.query = turned(heads.query, positions);
  cache.append(turned(heads.key, positions), heads.value, counts);
  heads.key = cache.keys();
  heads.value = cache.values();
  // All samples at one length, before and after: the last query sits on the last key.
  const bool aligned =
      all_equal(starts) && all_equal(cache.lengths()) && cache.longest() == starts[0] + tokens;
  const AttentionMask mask =
      aligned ? windowed(AttentionMask::causal())
              : AttentionMask::attend(open_keys(starts, cache.lengths(), tokens, options_.window_left));
  return attend(std::move(heads), mask, nullptr, false).output;
}

}  // namespace heed::nn
