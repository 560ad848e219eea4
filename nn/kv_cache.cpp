#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/kv_cache.h>
#include <heed/ops/slice.h>

namespace heed::nn {
namespace {

constexpr std::string_view cache_name = "KVCache";

// Tokens [start, start + count) of one sample: x [B, H, T, D] → [1, H, count, D]
Tensor tokens_of(const Tensor& x, std::size_t sample, std::int64_t start, std::int64_t count) {
  return narrow(narrow(x, 0, static_cast<std::int64_t>(sample), 1), 2, start, count);
}

void check_samples(std::string_view argument, std::size_t given, std::size_t batch) {
  check_value(given == batch, cache_name, fmt::format("number of {}", argument),
              static_cast<std::int64_t>(given), fmt::format("{}, one for each sample", batch));
}

void check_new_tokens(std::string_view argument, const Tensor& x, const KVCacheOptions& options) {
  check_dtype(cache_name, argument, x, {options.dtype});
  check_rank(cache_name, argument, x, 4, 4);
  check_shape(cache_name, argument, x, {options.batch, options.num_kv_heads, x.size(2), options.head_dim},
              "batch, heads, tokens, head_dim");
  if (x.requires_grad()) {
    fail<GradError>(cache_name, fmt::format("{} have history, which the cache would cut", argument), {},
                    "a NoGrad guard around the cached call");
  }
}

}  // namespace

KVCache::KVCache(const KVCacheOptions& options) : options_(options) {
  check_value(options.batch >= 1, cache_name, "batch", options.batch, "at least 1");
  check_value(options.num_kv_heads >= 1, cache_name, "num_kv_heads", options.num_kv_heads, "at least 1");
  check_value(options.head_dim >= 1, cache_name, "head_dim", options.head_dim, "at least 1");
  check_value(options.capacity >= 1, cache_name, "capacity", options.capacity, "at least 1");
  if (!is_floating(options.dtype)) {
    fail<DTypeError>(cache_name, "dtype is not floating", name_of(options.dtype), "f32 or f64");
  }
  const Shape shape = {options.batch, options.num_kv_heads, options.capacity, options.head_dim};
  keys_ = zeros(shape, options.dtype);
  values_ = zeros(shape, options.dtype);
  lengths_.assign(static_cast<std::size_t>(options.batch), 0);
}

std::int64_t KVCache::longest() const { return *std::max_element(lengths_.begin(), lengths_.end()); }

void KVCache::check_append(const Tensor& keys, const Tensor& values,
                           std::span<const std::int64_t> counts) const {
  check_new_tokens("keys", keys, options_);
  check_new_tokens("values", values, options_);
  check_same_shape(cache_name, "keys", keys, "values", values);
  const std::int64_t tokens = keys.size(2);
  if (!counts.empty()) check_samples("counts", counts.size(), lengths_.size());
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    const std::int64_t count = counts.empty() ? tokens : counts[b];
    check_value(count >= 0 && count <= tokens, cache_name, "count", count,
                fmt::format("0 to {}, the new tokens", tokens));
    if (lengths_[b] + count > options_.capacity) {
      fail<ValueError>(cache_name, "full",
                       fmt::format("sample {} keeps {} tokens and {} more are given", b, lengths_[b], count),
                       fmt::format("at most {} in all, the capacity", options_.capacity));
    }
  }
}

void KVCache::append(const Tensor& keys, const Tensor& values, std::span<const std::int64_t> counts) {
  check_append(keys, values, counts);
  const NoGrad guard;
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    const std::int64_t count = counts.empty() ? keys.size(2) : counts[b];
    tokens_of(keys_, b, lengths_[b], count).copy_(tokens_of(keys, b, 0, count));
    tokens_of(values_, b, lengths_[b], count).copy_(tokens_of(values, b, 0, count));
    lengths_[b] += count;
  }
}

void KVCache::truncate(std::int64_t length) { truncate(std::vector<std::int64_t>(lengths_.size(), length)); }

void KVCache::truncate(std::span<const std::int64_t> lengths) {
  check_samples("lengths", lengths.size(), lengths_.size());
  for (const std::int64_t length : lengths)
    check_value(length >= 0, cache_name, "length", length, "0 or more");
  for (std::size_t b = 0; b < lengths_.size(); ++b) lengths_[b] = std::min(lengths_[b], lengths[b]);
}

Tensor KVCache::keys() const { return narrow(keys_, 2, 0, longest()); }
Tensor KVCache::values() const { return narrow(values_, 2, 0, longest()); }

}  // namespace heed::nn
