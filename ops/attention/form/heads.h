#pragma once

#include <cstdint>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/ops/attention/attention.h>

namespace heed::kernels {
template <class T>
struct AttentionHead;
}

namespace heed::detail {

/// The operands of attention as the blocked kernels take them: one head of one sample at a time, whatever the strides
/// are. q, k and v have the same leading axes and unit stride in the last one.
class AttentionHeads {
 public:
  AttentionHeads(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 const AttentionMask::Plan& plan);

  std::int64_t samples, heads, kv_heads, queries, keys, size, value_size;
  double scale;
  std::int64_t groups() const { return heads / kv_heads; }
  std::int64_t blocks() const;
  Shape rows_shape() const;  ///< [.., Hq, Tq]

  template <class T>
  kernels::AttentionHead<T> head(std::int64_t sample, std::int64_t h) const;

  /// The same with q, k, v of equal shapes but other elements.
  AttentionHeads with(const Tensor& other_q, const Tensor& other_k, const Tensor& other_v) const;

 private:
  void set_operands(const Tensor& q, const Tensor& k, const Tensor& v);

  Tensor q_, k_, v_, open_, bias_, keep_;
  std::vector<std::int64_t> q_at_, k_at_, v_at_, open_at_, bias_at_,
      keep_at_;  // first element of each sample
  std::vector<double> slopes_, sink_;
  double softcap_, keep_scale_;
  const AttentionMask::Plan& plan_;
};

/// Where each sample starts, relative to data(): the leading axes in row-major order, the last three being one sample.
std::vector<std::int64_t> sample_offsets(const Tensor& x);

/// x, or a copy of it, whose last axis has stride 1 and whose elements do not repeat within a row.
Tensor with_dense_rows(const Tensor& x);

/// Rows of q, k, v (or a cotangent) that hold NaN or an infinity.
struct OddRows {
  std::vector<char> flags;  ///< in row-major order of the leading axes; empty: none
  explicit operator bool() const { return !flags.empty(); }
};
/// x if all of it is finite; else a copy with zeros in the rows that are not, which `odd` marks.
Tensor without_odd_rows(const Tensor& x, OddRows& odd);

/// Of 64 queries from `first`, those whose results an odd row reaches: their own, or that of an open key.
template <class T>
std::uint64_t reached_by_odd_rows(const AttentionHeads& heads, std::int64_t sample, std::int64_t h,
                                  std::int64_t first, const OddRows& q, const OddRows& k, const OddRows& v);

}  // namespace heed::detail
