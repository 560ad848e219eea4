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

/// The operands of attention as the blocked kernels take them: one head of one sample at a time, whatever the
/// strides are. q, k and v have the same leading axes. The plan must outlive this.
class AttentionHeads {
 public:
  AttentionHeads(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 const AttentionMask::Plan& plan);

  std::int64_t samples, heads, kv_heads, queries, keys, size, value_size;

  /// Query heads that share a key head.
  std::int64_t groups() const { return heads / kv_heads; }
  /// Blocks of queries of a head.
  std::int64_t blocks() const;
  DType dtype() const { return q_.dtype(); }
  Shape query_shape() const;  ///< [.., Hq, Tq]
  Shape key_shape() const;    ///< [.., Hkv, Tk]
  Shape pair_shape() const;   ///< [.., Hq, Tq, Tk]
  /// Index of a query among those of all samples and heads, in row-major order.
  std::int64_t query_row(std::int64_t sample, std::int64_t h, std::int64_t i = 0) const {
    return (sample * heads + h) * queries + i;
  }

  template <class T>
  kernels::AttentionHead<T> head(std::int64_t sample, std::int64_t h) const;

  // The operands, without history and with dense rows.
  const Tensor& q() const { return q_; }
  const Tensor& k() const { return k_; }
  const Tensor& v() const { return v_; }
  /// The same heads with other operands of the same shapes.
  AttentionHeads with(const Tensor& other_q, const Tensor& other_k, const Tensor& other_v) const;

 private:
  void set_operands(const Tensor& q, const Tensor& k, const Tensor& v);

  Tensor q_, k_, v_;
  Tensor open_, bias_, keep_;  // over all pairs, undefined where absent
  // sample_offsets of each tensor.
  std::vector<std::int64_t> q_at_, k_at_, v_at_, open_at_, bias_at_, keep_at_;
  std::vector<double> slopes_, sink_;  // of each head, empty where absent
  double scale_, softcap_, keep_scale_;
  const AttentionMask::Plan* plan_;
};

/// A tensor [.., H, T, D] with dense rows, by sample and head.
template <class T>
struct HeadRows {
  T* data = nullptr;  ///< null: absent
  std::vector<std::int64_t> sample_at;
  std::int64_t head_stride = 0, row_stride = 0;

  T* head(std::int64_t sample, std::int64_t h) const {
    return data + sample_at[static_cast<std::size_t>(sample)] + h * head_stride;
  }
};
/// `data` points to the first element of x; null gives an absent one.
template <class T>
HeadRows<T> head_rows(const Tensor& x, T* data);

/// Where each sample of a tensor [.., H, T, D] starts, relative to data(), in elements. The last three axes
/// are one sample; samples are numbered in row-major order of the others.
std::vector<std::int64_t> sample_offsets(const Tensor& x);

/// x, or a copy of it, with dense rows: the last axis has stride 1 or size 1.
Tensor with_dense_rows(const Tensor& x);

/// Uninitialised [.., H, T, size], laid out in memory as [.., T, H, size], so that joining the heads again
/// takes a view and no copy. `rows` is [.., H, T].
Tensor empty_heads(const Shape& rows, std::int64_t size, DType dtype);

}  // namespace heed::detail
