#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::nn {

struct KVCacheOptions {
  std::int64_t batch = 1;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t capacity = 0;  // tokens that fit, for each sample
  DType dtype = DType::f32;
};

/// Keys and values of the tokens that an attention module has seen, in memory that is allocated once. Every
/// sample has a length of its own: token i of a sample lies at position i, its next one at position
/// lengths()[b]. A failed call changes nothing.
class KVCache {
 public:
  /// Throws    ValueError (a size below 1), DTypeError (not floating).
  explicit KVCache(const KVCacheOptions& options);
  const KVCacheOptions& options() const { return options_; }

  /// Tokens kept of each sample.
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  /// The largest of lengths().
  std::int64_t longest() const;

  /// Adds the first counts[b] tokens of sample b; without counts all of them.
  /// Shapes    keys and values [batch, num_kv_heads, T, head_dim].
  /// Throws    ShapeError, DTypeError, ValueError (a count outside 0 … T, more tokens than the capacity),
  ///           GradError (the tensors have history, which would be cut).
  void append(const Tensor& keys, const Tensor& values, std::span<const std::int64_t> counts = {});

  /// Forgets the tokens from position `length` on, in every sample or in sample b from lengths[b] on. A
  /// sample that is shorter stays.
  /// Throws    ValueError (negative length, another number of lengths than samples).
  void truncate(std::int64_t length);
  void truncate(std::span<const std::int64_t> lengths);
  /// Forgets everything.
  void reset() { truncate(0); }

  /// What is kept, [batch, num_kv_heads, longest(), head_dim]: views of the cache's memory. Rows beyond a
  /// sample's own length mean nothing.
  Tensor keys() const;
  Tensor values() const;

 private:
  void check_append(const Tensor& keys, const Tensor& values, std::span<const std::int64_t> counts) const;

  KVCacheOptions options_;
  Tensor keys_;  // [batch, num_kv_heads, capacity, head_dim]
  Tensor values_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace heed::nn
