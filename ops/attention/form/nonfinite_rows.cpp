#include <algorithm>
#include <utility>

#include <heed/core/elements.h>
#include <heed/ops/attention/form/nonfinite_rows.h>
#include <heed/ops/attention/kernels/head.h>
#include <heed/ops/attention/kernels/scalar_row.h>
#include <heed/ops/kernels/all_finite.h>

namespace heed::detail {

Tensor with_zeros_in_nonfinite_rows(const Tensor& x, NonfiniteRows& nonfinite) {
  Tensor copy;
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Tensor dense = with_dense_rows(x.detach());
    const HeadRows<const T> rows = head_rows<const T>(dense, dense.data<T>());
    const std::int64_t n = x.size(-1), time = x.size(-2);
    std::int64_t row = 0;
    for (std::size_t sample = 0; sample < rows.sample_at.size(); ++sample) {
      for (std::int64_t i = 0; i < x.size(-3) * time; ++i, ++row) {
        const T* elements =
            rows.head(static_cast<std::int64_t>(sample), i / time) + i % time * rows.row_stride;
        if (kernels::all_finite(elements, n)) continue;
        if (nonfinite.empty()) {
          nonfinite.flags.assign(static_cast<std::size_t>(x.numel() / n), 0);
          copy = copy_of(x);
        }
        nonfinite.flags[static_cast<std::size_t>(row)] = 1;
        std::fill_n(copy.mutable_data<T>() + row * n, n, T(0));
      }
    }
  });
  return nonfinite.empty() ? x : copy;
}

FiniteOperands with_zeros_in_nonfinite_rows(const AttentionHeads& heads) {
  NonfiniteRows q, k, v;
  const Tensor finite_q = with_zeros_in_nonfinite_rows(heads.q(), q);
  const Tensor finite_k = with_zeros_in_nonfinite_rows(heads.k(), k);
  const Tensor finite_v = with_zeros_in_nonfinite_rows(heads.v(), v);
  return {.heads = heads.with(finite_q, finite_k, finite_v),
          .q = std::move(q),
          .k = std::move(k),
          .v = std::move(v)};
}

template <class T>
std::uint64_t FiniteOperands::reached(std::int64_t sample, std::int64_t h, std::int64_t first) const {
  if (q.empty() && k.empty() && v.empty()) return 0;
  const kernels::AttentionHead<T> head = heads.head<T>(sample, h);
  const std::int64_t kv_row = (sample * heads.kv_heads + h / heads.groups()) * heads.keys;
  std::uint64_t reached = 0;
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, heads.queries); ++i) {
    bool hit = q.contains(heads.query_row(sample, h, i));
    for (std::int64_t j = head.begin[i]; j < head.end[i] && !hit; ++j) {
      hit = (k.contains(kv_row + j) || v.contains(kv_row + j)) && kernels::attention_open(head, i, j);
    }
    reached |= static_cast<std::uint64_t>(hit) << (i - first);
  }
  return reached;
}

template std::uint64_t FiniteOperands::reached<float>(std::int64_t, std::int64_t, std::int64_t) const;
template std::uint64_t FiniteOperands::reached<double>(std::int64_t, std::int64_t, std::int64_t) const;

}  // namespace heed::detail
