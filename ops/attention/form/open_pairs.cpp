#include <algorithm>
#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/parallel.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/attention/form/open_pairs.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/matmul.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed::detail {
namespace {

// x [.., rows, columns], expanded to the leading axes that it and the other matrix broadcast to.
Tensor with_leading_axes_of(const Tensor& x, const Tensor& other) {
  const auto leading = [](const Tensor& t) {
    Shape shape = t.shape();
    shape.erase(shape.rank() - 1);
    shape.erase(shape.rank() - 1);
    return shape;
  };
  Shape shape = broadcast_shapes("attention", leading(x), leading(other));
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return shape == x.shape() ? x : expand(x, shape);
}

Tensor over_pairs(const Tensor& open, const Tensor& rows, std::int64_t keys) {
  Shape pairs = rows.shape();
  pairs[pairs.rank() - 1] = keys;
  return open.shape() == pairs ? open : expand(open, pairs);
}

Tensor with_zeros_for_nonfinite(const Tensor& x) {
  Tensor finite = copy_of(x);
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* elements = finite.mutable_data<T>();
    std::replace_if(
        elements, elements + finite.numel(), [](T e) { return !std::isfinite(e); }, T(0));
  });
  return finite;
}

// Sets x, a dense result that nobody else holds, to 0 on closed pairs.
void clear_closed_pairs(Tensor& x, const Tensor& open) {
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* elements = x.mutable_data<T>();
    const bool* pairs = open.data<bool>() - open.offset();
    const StridedLoop<2> loop({&x.view(), &open.view()});
    loop.run_parallel([&](const auto& at, const auto& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (!pairs[at[1] + i * step[1]]) elements[at[0] + i] = T(0);
      }
    });
  });
}

// y_ic += w_ij v_jc on open pairs, for the elements v_jc that are not finite. All tensors are dense.
template <class T>
void add_nonfinite_terms(const Tensor& w, const Tensor& v, const Tensor& open, Tensor& y) {
  const std::int64_t queries = w.size(-2), keys = w.size(-1), size = v.size(-1);
  const T *pw = w.data<T>(), *pv = v.data<T>();
  const bool* po = open.data<bool>();
  T* py = y.mutable_data<T>();
  parallel_for(v.numel() / (keys * size), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      for (std::int64_t at = 0; at < keys * size; ++at) {
        const T x = pv[sample * keys * size + at];
        if (std::isfinite(x)) continue;
        const std::int64_t j = at / size, c = at % size;
        for (std::int64_t row = sample * queries; row < (sample + 1) * queries; ++row) {
          if (po[row * keys + j]) py[row * size + c] += pw[row * keys + j] * x;
        }
      }
    }
  });
}

Tensor masked_scores(const Tensor& q, const Tensor& k, const Tensor& open);
Tensor masked_sum(const Tensor& w, const Tensor& v, const Tensor& open);

// The derivatives of these two products are made of the same two products.
struct OpenScoresVjp {
  SavedTensor q, k, open;
  void vjp(VjpContext& context) const {  // s_ij = q_i · k_j on open pairs
    const Tensor& ds = context.cotangent();
    const Tensor pairs = context.unpack(open);
    if (context.needs(0)) context.set(0, masked_sum(ds, context.unpack(k), pairs));
    if (context.needs(1)) context.set(1, masked_sum(transpose(ds), context.unpack(q), transpose(pairs)));
  }
};
struct OpenSumVjp {
  SavedTensor w, v, open;
  void vjp(VjpContext& context) const {  // y_i = Σ_j w_ij v_j over open pairs
    const Tensor& dy = context.cotangent();
    const Tensor pairs = context.unpack(open);
    if (context.needs(0)) context.set(0, masked_scores(dy, context.unpack(v), pairs));
    if (context.needs(1)) context.set(1, masked_sum(transpose(context.unpack(w)), dy, transpose(pairs)));
  }
};

// q and k of equal leading axes, and `open` over all of their pairs.
Tensor masked_scores(const Tensor& q, const Tensor& k, const Tensor& open) {
  // Each score reads one query and one key: what a closed pair holds stays in its own score.
  Tensor scores = matmul(q.detach(), transpose(k.detach()));
  clear_closed_pairs(scores, open);
  record("open_scores", {&q, &k}, scores, [&] {
    return OpenScoresVjp{.q = save_input(q, "q"), .k = save_input(k, "k"), .open = save_input(open, "mask")};
  });
  return scores;
}

// The same for w and v. Here each sum reads all rows of v, closed ones too. So the product sees zeros where v
// is not finite, and the terms of those elements are added afterwards to the queries that are open to them.
Tensor masked_sum(const Tensor& w, const Tensor& v, const Tensor& open) {
  const Tensor open_w = where(open, w.detach(), 0);
  const Tensor dense_v = contiguous(v.detach());
  const bool finite = all_finite(dense_v);
  Tensor y = matmul(open_w, finite ? dense_v : with_zeros_for_nonfinite(dense_v));
  if (!finite) {
    const Tensor dense_open = contiguous(open);
    visit_floating(y.dtype(), [&]<class T>(std::type_identity<T>) {
      add_nonfinite_terms<T>(open_w, dense_v, dense_open, y);
    });
  }
  record("open_sum", {&w, &v}, y, [&] {
    return OpenSumVjp{.w = save_input(w, "w"), .v = save_input(v, "v"), .open = save_input(open, "mask")};
  });
  return y;
}

}  // namespace

double default_scale(std::int64_t size) { return size == 0 ? 1 : 1 / std::sqrt(static_cast<double>(size)); }

Tensor open_scores(const Tensor& q, const Tensor& k, const Tensor& open) {
  if (!open.defined()) return matmul(q, transpose(k));
  const Tensor all_q = with_leading_axes_of(q, k);
  return masked_scores(all_q, with_leading_axes_of(k, q), over_pairs(open, all_q, k.size(-2)));
}

Tensor open_softmax(const Tensor& scores, const Tensor& open) {
  if (!open.defined()) return softmax(scores);
  const Tensor closed = logical_not(open);
  const Tensor logits = masked_fill(scores, closed, minus_infinity);
  const Tensor dead = scores.size(-1) == 0 ? closed : eq(amax(logits.detach(), {-1}, true), minus_infinity);
  return masked_fill(softmax(masked_fill(logits, dead, 0)), logical_or(closed, dead), 0);
}

Tensor open_sum(const Tensor& w, const Tensor& v, const Tensor& open) {
  if (!open.defined()) return matmul(w, v);
  const Tensor all_w = with_leading_axes_of(w, v);
  return masked_sum(all_w, with_leading_axes_of(v, w), over_pairs(open, all_w, w.size(-1)));
}

}  // namespace heed::detail
