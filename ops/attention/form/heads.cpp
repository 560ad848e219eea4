#include <algorithm>
#include <cmath>

#include <heed/core/elements.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/attention/form/heads.h>
#include <heed/ops/attention/kernels/blocks.h>
#include <heed/ops/attention/kernels/scalar_row.h>
#include <heed/ops/cast.h>
#include <heed/ops/kernels/all_finite.h>

namespace heed::detail {
namespace {

// A view of x over all pairs, rows of keys dense.
Tensor over_pairs(const Tensor& x, const Shape& scores) {
  if (!x.defined()) return {};
  Shape rows = x.rank() == 0 ? Shape{1} : x.shape();
  rows[rows.rank() - 1] = scores[scores.rank() - 1];
  const Tensor dense = with_dense_rows(view_of(x, expand_view("attention", x.view(), rows)));
  return view_of(dense, expand_view("attention", dense.view(), scores));
}

std::vector<double> doubles(const Tensor& x) {
  if (!x.defined()) return {};
  return cast(x.detach(), DType::f64).to_vector<double>();
}

template <class T>
kernels::Rows<const T> rows_of(const Tensor& x, std::int64_t at, std::int64_t h) {
  if (!x.defined()) return {};
  const Strides& strides = x.strides();
  return {x.data<T>() + at + h * strides[x.rank() - 3], strides[x.rank() - 2]};
}

}  // namespace

std::vector<std::int64_t> sample_offsets(const Tensor& x) {
  std::vector<std::int64_t> offsets{0};
  if (!x.defined()) return offsets;
  for (int axis = 0; axis + 3 < x.rank(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : offsets) {
      for (std::int64_t i = 0; i < x.shape()[axis]; ++i) next.push_back(at + i * x.strides()[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

Tensor with_dense_rows(const Tensor& x) {
  const int last = x.rank() - 1;
  return x.strides()[last] == 1 || x.size(last) == 1 ? x : copy_of(x);
}

AttentionHeads::AttentionHeads(const Tensor& q, const Tensor& k, const Tensor& v,
                               const AttentionOptions& options, const AttentionMask::Plan& plan)
    : samples(1),
      heads(q.size(-3)),
      kv_heads(k.size(-3)),
      queries(q.size(-2)),
      keys(k.size(-2)),
      size(q.size(-1)),
      value_size(v.size(-1)),
      scale(options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))))),
      slopes_(doubles(plan.slopes)),
      sink_(doubles(options.sink)),
      softcap_(options.softcap),
      // Nothing is kept at p = 1, so any factor does.
      keep_scale_(options.dropout_keep.defined() && options.dropout < 1 ? 1 / (1 - options.dropout) : 1),
      plan_(plan) {
  set_operands(q, k, v);
  samples = static_cast<std::int64_t>(q_at_.size());
  Shape scores = rows_shape();
  scores.push_back(keys);
  open_ = over_pairs(plan.open, scores);
  bias_ = over_pairs(plan.bias, scores);
  keep_ = over_pairs(options.dropout_keep, scores);
  open_at_ = sample_offsets(open_);
  bias_at_ = sample_offsets(bias_);
  keep_at_ = sample_offsets(keep_);
}

void AttentionHeads::set_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  q_ = with_dense_rows(q.detach());
  k_ = with_dense_rows(k.detach());
  v_ = with_dense_rows(v.detach());
  q_at_ = sample_offsets(q_);
  k_at_ = sample_offsets(k_);
  v_at_ = sample_offsets(v_);
}

AttentionHeads AttentionHeads::with(const Tensor& q, const Tensor& k, const Tensor& v) const {
  AttentionHeads other = *this;
  other.set_operands(q, k, v);
  return other;
}

std::int64_t AttentionHeads::blocks() const { return (queries - 1) / kernels::attention_block + 1; }

Shape AttentionHeads::rows_shape() const {
  Shape shape = q_.shape();
  Shape rows;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows.push_back(shape[axis]);
  return rows;
}

template <class T>
kernels::AttentionHead<T> AttentionHeads::head(std::int64_t sample, std::int64_t h) const {
  const auto at = [&](const std::vector<std::int64_t>& offsets) {
    return offsets[static_cast<std::size_t>(sample) % offsets.size()];
  };
  const auto i = static_cast<std::size_t>(h);
  kernels::AttentionHead<T> head;
  head.q = rows_of<T>(q_, at(q_at_), h);
  head.k = rows_of<T>(k_, at(k_at_), h / groups());
  head.v = rows_of<T>(v_, at(v_at_), h / groups());
  head.queries = queries;
  head.keys = keys;
  head.size = size;
  head.value_size = value_size;
  head.scale = static_cast<T>(scale);
  head.softcap = static_cast<T>(softcap_);
  const std::int64_t b = sample % plan_.samples;
  head.begin = plan_.begin.data() + b * queries;
  head.end = plan_.end.data() + b * queries;
  head.open = rows_of<bool>(open_, at(open_at_), h);
  head.bias = rows_of<T>(bias_, at(bias_at_), h);
  head.keep = rows_of<bool>(keep_, at(keep_at_), h);
  head.keep_scale = static_cast<T>(keep_scale_);
  head.slope = slopes_.empty() ? T(0) : static_cast<T>(slopes_[i]);
  head.first_position = plan_.first_position[static_cast<std::size_t>(sample) % plan_.first_position.size()];
  head.has_sink = !sink_.empty();
  head.sink = sink_.empty() ? T(0) : static_cast<T>(sink_[i]);
  return head;
}

Tensor without_odd_rows(const Tensor& x, OddRows& odd) {
  Tensor copy;
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Tensor dense = with_dense_rows(x.detach());
    const std::int64_t n = x.size(-1);
    const std::int64_t time = x.size(-2);
    std::int64_t row = 0;
    for (const std::int64_t at : sample_offsets(dense)) {
      for (std::int64_t i = 0; i < x.size(-3) * time; ++i, ++row) {
        const T* data = dense.data<T>() + at + i / time * dense.strides()[x.rank() - 3] +
                        i % time * dense.strides()[x.rank() - 2];
        if (kernels::all_finite(data, n)) continue;
        if (!odd) {
          odd.flags.assign(static_cast<std::size_t>(x.numel() / n), 0);
          copy = copy_of(x);
        }
        odd.flags[static_cast<std::size_t>(row)] = 1;
        std::fill_n(copy.mutable_data<T>() + row * n, n, T(0));
      }
    }
  });
  return odd ? copy : x;
}

template <class T>
std::uint64_t reached_by_odd_rows(const AttentionHeads& heads, std::int64_t sample, std::int64_t h,
                                  std::int64_t first, const OddRows& q, const OddRows& k, const OddRows& v) {
  if (!q && !k && !v) return 0;
  const kernels::AttentionHead<T> head = heads.head<T>(sample, h);
  const auto flagged = [](const OddRows& odd, std::int64_t row) {
    return odd && odd.flags[static_cast<std::size_t>(row)] != 0;
  };
  const std::int64_t q_row = (sample * heads.heads + h) * heads.queries;
  const std::int64_t kv_row = (sample * heads.kv_heads + h / heads.groups()) * heads.keys;
  std::uint64_t reached = 0;
  for (std::int64_t i = first; i < std::min(first + kernels::attention_block, heads.queries); ++i) {
    bool hit = flagged(q, q_row + i);
    for (std::int64_t j = head.begin[i]; j < head.end[i] && !hit; ++j) {
      hit = (flagged(k, kv_row + j) || flagged(v, kv_row + j)) && kernels::attention_open(head, i, j);
    }
    reached |= static_cast<std::uint64_t>(hit) << (i - first);
  }
  return reached;
}

template kernels::AttentionHead<float> AttentionHeads::head<float>(std::int64_t, std::int64_t) const;
template kernels::AttentionHead<double> AttentionHeads::head<double>(std::int64_t, std::int64_t) const;
template std::uint64_t reached_by_odd_rows<float>(const AttentionHeads&, std::int64_t, std::int64_t,
                                                  std::int64_t, const OddRows&, const OddRows&,
                                                  const OddRows&);
template std::uint64_t reached_by_odd_rows<double>(const AttentionHeads&, std::int64_t, std::int64_t,
                                                   std::int64_t, const OddRows&, const OddRows&,
                                                   const OddRows&);

}  // namespace heed::detail
