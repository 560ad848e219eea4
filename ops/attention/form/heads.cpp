#include <utility>

#include <heed/core/elements.h>
#include <heed/ops/attention/form/heads.h>
#include <heed/ops/attention/form/open_pairs.h>
#include <heed/ops/attention/kernels/head.h>
#include <heed/ops/cast.h>

namespace heed::detail {
namespace {

// A view of x over all pairs, whose rows of keys are dense.
Tensor over_pairs(const Tensor& x, const Shape& pairs) {
  if (!x.defined()) return {};
  Shape rows = x.rank() == 0 ? Shape{1} : x.shape();
  rows[rows.rank() - 1] = pairs[pairs.rank() - 1];
  const Tensor dense = with_dense_rows(view_of(x, expand_view("attention", x.view(), rows)));
  return view_of(dense, expand_view("attention", dense.view(), pairs));
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

// All axes but the last.
Shape rows_shape(const Tensor& x) {
  Shape shape = x.shape();
  shape.erase(shape.rank() - 1);
  return shape;
}

}  // namespace

AttentionHeads::AttentionHeads(const Tensor& q, const Tensor& k, const Tensor& v,
                               const AttentionOptions& options, const AttentionMask::Plan& plan)
    : samples(static_cast<std::int64_t>(sample_offsets(q).size())),
      heads(q.size(-3)),
      kv_heads(k.size(-3)),
      queries(q.size(-2)),
      keys(k.size(-2)),
      size(q.size(-1)),
      value_size(v.size(-1)),
      slopes_(doubles(plan.slopes)),
      sink_(doubles(options.sink)),
      scale_(options.scale.value_or(default_scale(q.size(-1)))),
      softcap_(options.softcap),
      // Nothing is kept at p = 1, whatever the mask says.
      keep_scale_(!options.dropout_keep.defined() ? 1
                  : options.dropout < 1           ? 1 / (1 - options.dropout)
                                                  : 0),
      plan_(&plan) {
  set_operands(q, k, v);
  open_ = over_pairs(plan.open, pair_shape());
  bias_ = over_pairs(plan.bias, pair_shape());
  keep_ = over_pairs(options.dropout_keep, pair_shape());
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

Shape AttentionHeads::query_shape() const { return rows_shape(q_); }
Shape AttentionHeads::key_shape() const { return rows_shape(k_); }
Shape AttentionHeads::pair_shape() const {
  Shape shape = query_shape();
  shape.push_back(keys);
  return shape;
}

template <class T>
kernels::AttentionHead<T> AttentionHeads::head(std::int64_t sample, std::int64_t h) const {
  const auto at = [&](const auto& of_samples) {
    return of_samples[static_cast<std::size_t>(sample) % of_samples.size()];
  };
  const auto of_head = [&](const std::vector<double>& x) {
    return x.empty() ? T(0) : static_cast<T>(x[static_cast<std::size_t>(h)]);
  };
  const std::int64_t first_range = sample % plan_->samples * queries;
  return {.q = rows_of<T>(q_, at(q_at_), h),
          .k = rows_of<T>(k_, at(k_at_), h / groups()),
          .v = rows_of<T>(v_, at(v_at_), h / groups()),
          .queries = queries,
          .keys = keys,
          .size = size,
          .value_size = value_size,
          .scale = static_cast<T>(scale_),
          .softcap = static_cast<T>(softcap_),
          .begin = plan_->begin.data() + first_range,
          .end = plan_->end.data() + first_range,
          .open = rows_of<bool>(open_, at(open_at_), h),
          .bias = rows_of<T>(bias_, at(bias_at_), h),
          .slope = of_head(slopes_),
          .first_position = at(plan_->first_position),
          .keep = rows_of<bool>(keep_, at(keep_at_), h),
          .keep_scale = static_cast<T>(keep_scale_),
          .has_sink = !sink_.empty(),
          .sink = of_head(sink_)};
}

template <class T>
HeadRows<T> head_rows(const Tensor& x, T* data) {
  if (data == nullptr) return {};
  return {.data = data,
          .sample_at = sample_offsets(x),
          .head_stride = x.strides()[x.rank() - 3],
          .row_stride = x.strides()[x.rank() - 2]};
}

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

Tensor empty_heads(const Shape& rows, std::int64_t size, DType dtype) {
  const int rank = rows.rank() + 1;
  Shape shape = rows;
  std::swap(shape[rank - 3], shape[rank - 2]);
  shape.push_back(size);
  Shape axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::swap(axes[rank - 3], axes[rank - 2]);
  const Tensor y = empty(shape, dtype);
  return view_of(y, permute_view("attention", y.view(), axes));
}

#define HEED_ATTENTION_HEADS_FOR(T)                                                             \
  template kernels::AttentionHead<T> AttentionHeads::head<T>(std::int64_t, std::int64_t) const; \
  template HeadRows<T> head_rows(const Tensor&, T*);                                            \
  template HeadRows<const T> head_rows(const Tensor&, const T*);
HEED_ATTENTION_HEADS_FOR(float)
HEED_ATTENTION_HEADS_FOR(double)
#undef HEED_ATTENTION_HEADS_FOR

}  // namespace heed::detail
