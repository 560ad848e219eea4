#include <algorithm>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/attention/mask/positions.h>

namespace heed {
namespace {

std::int64_t queries_of(const Shape& scores) { return scores[scores.rank() - 2]; }
std::int64_t keys_of(const Shape& scores) { return scores[scores.rank() - 1]; }

}  // namespace

// A boolean mask of two axes means [queries, keys]. It is refused, with a hint what to write instead, where
// its rows can only be samples. One given to `ignore` is refused where its rows may be either: it is probably
// a padding mask.
void AttentionMask::check_booleans(const char* op, const Shape& scores) const {
  const std::int64_t samples = samples_of(scores), queries = queries_of(scores), keys = keys_of(scores);
  const auto of_samples = [&](const Shape& mask) {
    return samples > 1 && mask.rank() == 2 && mask[0] == samples && mask[1] == keys;
  };
  const auto refuse = [&](const char* problem, const Shape& mask) {
    fail<ShapeError>(op, problem, fmt::format("mask is {} and logits are {}", mask.str(), scores.str()),
                     fmt::format("key_lengths(lengths) or a mask [{}, 1, 1, {}] for padding, [1, {}, {}] for "
                                 "pairs of queries and keys",
                                 samples, keys, queries, keys));
  };
  for (const Tensor& m : attend_) {
    if (queries != samples && of_samples(m.shape())) refuse("a mask has samples for queries", m.shape());
    check_expands(op, "mask", m, scores);
  }
  for (const Shape& ignored : ignored_) {
    if (of_samples(ignored)) refuse("rows of a mask may be samples or queries", ignored);
  }
}

// Lengths count keys. Where one is below Tq, the caller must say where the queries stand: the default would
// put the first queries before the first key, so a text padded at its end would lose its first tokens.
void AttentionMask::check_positions(const char* op, const Shape& scores) const {
  const std::int64_t queries = queries_of(scores), keys = keys_of(scores);
  if (query_starts_.defined()) {
    check_shape(op, "query start", query_starts_, {samples_of(scores)}, "one position for each sample");
  }
  const bool placed = causal_ || std::any_of(windows_.begin(), windows_.end(),
                                             [](const Window& w) { return w.left >= 0 || w.right >= 0; });
  for (const Tensor& lengths : key_lengths_) {
    check_shape(op, "key lengths", lengths, {samples_of(scores)}, "one length for each sample");
    for (const std::int64_t length : detail::integers_of(lengths)) {
      check_value(length >= 0 && length <= keys, op, "key length", length,
                  fmt::format("0 <= length <= {}, the number of keys", keys));
      if (!placed || has_query_start() || length >= queries) continue;
      fail<ValueError>(op, "a key length is below the number of queries, and nothing says where they start",
                       fmt::format("the length is {} and Tq is {}", length, queries),
                       fmt::format("mask.query_start(0) for texts padded at their end, or "
                                   "mask.query_start(lengths - {}) for the newest tokens of a cache",
                                   queries));
    }
  }
}

void AttentionMask::check(const char* op, const Shape& scores, DType dtype) const {
  check_booleans(op, scores);
  for (const Tensor& b : bias_) {
    check_dtype(op, "bias", b, {dtype});
    check_expands(op, "bias", b, scores);
  }
  check_positions(op, scores);
  const int rank = scores.rank();
  for (const Tensor& ids : documents_) {
    check_shape(op, "documents", ids,
                ids.rank() == 1 ? Shape{keys_of(scores)} : Shape{samples_of(scores), keys_of(scores)},
                "one id for each position");
    if (keys_of(scores) != queries_of(scores)) {
      fail<ShapeError>(op, "a document mask needs as many queries as keys", scores.str(), "Tq == Tk");
    }
  }
  for (const Tensor& s : slopes_) {
    check_dtype(op, "slopes", s, {dtype});
    check_shape(op, "slopes", s, {rank > 2 ? scores[rank - 3] : 1}, "one slope for each head");
  }
}

}  // namespace heed
