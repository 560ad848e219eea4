#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/gather.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/ops/kernels/rows.h>
#include <heed/ops/reshape.h>
#include <heed/ops/softmax.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr const char* cross_entropy_op = "cross_entropy";
constexpr std::int64_t cache_bytes = 32 << 20;  // more than this no cache is expected to hold

// Coefficients of −lp[c] in one row: `hit` for the target class, `spread · w_c` for every class.
struct RowTerms {
  double hit;
  double spread;
  double total;  // Σ_c of all coefficients; 0 for an ignored row
};

struct Classes {
  std::int64_t count = 0;
  std::int64_t ignore_index = -100;
  double smoothing = 0;
  std::vector<double> weight;  // empty: all 1
  double weight_sum = 0;

  double weight_of(std::int64_t c) const {
    return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(c)];
  }
  RowTerms terms(std::int64_t target) const {
    if (target == ignore_index) return {0, 0, 0};
    const double hit = (1 - smoothing) * weight_of(target);
    const double spread = smoothing / static_cast<double>(count);
    return {hit, spread, hit + spread * weight_sum};
  }
};

Classes classes_of(std::int64_t count, const CrossEntropyOptions& options) {
  Classes classes{count, options.ignore_index, options.label_smoothing, {}, static_cast<double>(count)};
  if (options.weight.defined()) {
    visit_floating(options.weight.dtype(), [&]<class T>(std::type_identity<T>) {
      for (const T w : options.weight.to_vector<T>()) classes.weight.push_back(static_cast<double>(w));
    });
    classes.weight_sum = 0;
    for (const double w : classes.weight) classes.weight_sum += w;
  }
  return classes;
}

// Coefficients are then those of weights of 1.
Classes without_weight(Classes classes) {
  classes.weight.clear();
  classes.weight_sum = static_cast<double>(classes.count);
  return classes;
}

std::vector<std::int64_t> index_targets(const Tensor& target, const Classes& classes) {
  std::vector<std::int64_t> indices;
  visit_numeric(target.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const T y : target.to_vector<T>()) indices.push_back(static_cast<std::int64_t>(y));
  });
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == classes.ignore_index || (indices[i] >= 0 && indices[i] < classes.count)) continue;
    fail_index(cross_entropy_op, "target", indices[i], static_cast<std::int64_t>(i), classes.count);
  }
  return indices;
}

std::int64_t row_grain(std::int64_t n) {
  return std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(n, 1));
}

// Loss of one row from its maximum m and the sum of exp(x − m) less 1.
template <class T>
T row_loss(const T* x, T m, T others, std::int64_t target, const Classes& classes) {
  const RowTerms terms = classes.terms(target);
  const double log_sum = std::log1p(static_cast<double>(others));
  const auto minus_lp = [&](std::int64_t c) {
    return log_sum - (static_cast<double>(x[c]) - static_cast<double>(m));
  };
  // f64 in more digits: there may be many classes.
  using Acc = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  Acc loss = terms.hit == 0 ? 0 : terms.hit * minus_lp(target);
  if (terms.spread != 0) {
    for (std::int64_t c = 0; c < classes.count; ++c) {
      const double a = terms.spread * classes.weight_of(c);
      if (a != 0) loss += a * minus_lp(c);
    }
  }
  return static_cast<T>(loss);
}

// The coefficients as tensors: l = −Σ_c a[r, c] lp[r, c].
struct Coefficients {
  Tensor a;        // [rows, C]
  Tensor ignored;  // boolean [rows, 1]: rows that are never read
};

Coefficients coefficients_of(const std::vector<std::int64_t>& targets, const Classes& classes, DType dtype) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  Coefficients result{.a = zeros({rows, classes.count}, dtype), .ignored = zeros({rows, 1}, DType::boolean)};
  visit_floating(dtype, [&]<class T>(std::type_identity<T>) {
    T* a = result.a.mutable_data<T>();
    bool* ignored = result.ignored.mutable_data<bool>();
    for (std::int64_t r = 0; r < rows; ++r, a += classes.count) {
      const std::int64_t y = targets[static_cast<std::size_t>(r)];
      const RowTerms terms = classes.terms(y);
      ignored[r] = y == classes.ignore_index;
      if (terms.spread != 0) {
        for (std::int64_t c = 0; c < classes.count; ++c)
          a[c] = static_cast<T>(terms.spread * classes.weight_of(c));
      }
      if (terms.hit != 0) a[y] += static_cast<T>(terms.hit);
    }
  });
  return result;
}

// lp with 0 in the terms that a coefficient of zero skips: 0 · −inf would be NaN.
Tensor without_skipped(const Tensor& a, const Tensor& lp) {
  const Tensor skipped =
      logical_and(eq(a.detach(), 0), eq(lp.detach(), -std::numeric_limits<double>::infinity()));
  return masked_fill(lp, skipped, 0);
}

// −Σ_c a[r, c] lp[r, c].
Tensor weighted_losses(const Tensor& a, const Tensor& lp) {
  return neg(sum(mul(a, without_skipped(a, lp)), {1}));
}

// The losses of logits [rows, C] of recorded operations. Logits of ignored rows are taken as 0, so that they
// are never read. `weight` of the classes, where it is defined, is a factor of its own that has a gradient.
Tensor composite_losses(const Tensor& logits, const Tensor& weight, const std::vector<std::int64_t>& targets,
                        const Classes& classes) {
  const auto [a, ignored] =
      coefficients_of(targets, weight.defined() ? without_weight(classes) : classes, logits.dtype());
  return weighted_losses(weight.defined() ? mul(a, weight) : a, log_softmax(masked_fill(logits, ignored, 0)));
}

struct CrossEntropyVjp {
  SavedTensor logits, weight;  // [rows, C], [C] where it has a gradient
  SavedTensor max, others;     // [rows], [rows]: Σ exp(x − max) − 1
  std::vector<std::int64_t> targets;
  Classes classes;

  void vjp(VjpContext& context) const {  // l = Σ_c a_c (−lp[c])
    if (!context.fused()) {
      composite(context);
    } else {
      if (context.needs(1)) context.set(1, weight_gradient(context));  // before logits are written over
      if (!context.needs(0)) return;
      visit_floating(context.cotangent().dtype(), [&]<class T>(std::type_identity<T>) { fused<T>(context); });
    }
  }

  void composite(VjpContext& context) const {
    detail::vjp_of_composite(context, {&logits, &weight}, [&](std::span<const Tensor> inputs) {
      return std::vector<Tensor>{composite_losses(inputs[0], inputs[1], targets, classes)};
    });
  }

  // dw_c = −Σ_r dl_r a[r, c] lp[r, c], a without the weight.
  Tensor weight_gradient(VjpContext& context) const {
    const Tensor x = context.unpack(logits).detach();
    const auto [a, ignored] = coefficients_of(targets, without_weight(classes), x.dtype());
    const Tensor lp = log_softmax(masked_fill(x, ignored, 0));
    const Tensor coefficients = mul(a, context.unpack(weight).detach());
    return neg(
        heed::sum(mul(mul(a, without_skipped(coefficients, lp)), unsqueeze(context.cotangent(), 1)), {0}));
  }

  // Over the logits where nobody else will read them: with a large vocabulary they are most of
  // a model's memory.
  template <class T>
  void fused(VjpContext& context) const {
    const kernels::FlushSubnormals flush(dtype_of<T> == DType::f32);
    const bool overwrites = context.may_overwrite(logits);  // asked before a second handle is made
    const Tensor x = contiguous(context.unpack(logits).detach());
    const Tensor dl = contiguous(context.cotangent());
    const Tensor m = context.unpack(max);
    const Tensor rest = context.unpack(others);
    Tensor dx = overwrites ? x : empty(x.shape(), x.dtype());
    const std::int64_t n = classes.count;
    const bool past_caches = !overwrites && x.numel() * std::int64_t{sizeof(T)} > cache_bytes;
    const T* px = x.data<T>();
    T* out = dx.mutable_data<T>();
    parallel_for(x.size(0), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        row_gradient(px + r * n, out + r * n, targets[static_cast<std::size_t>(r)],
                     static_cast<double>(dl.data<T>()[r]), m.data<T>()[r], rest.data<T>()[r], past_caches);
      }
    });
    context.set(0, dx);
  }

  // `out` may be x.
  template <class T>
  void row_gradient(const T* x, T* out, std::int64_t y, double g, T m, T rest, bool past_caches) const {
    const std::int64_t n = classes.count;
    const RowTerms terms = classes.terms(y);
    if (y == classes.ignore_index) {
      std::fill(out, out + n, T(0));
      return;
    }
    const double sum = 1 + static_cast<double>(rest);
    const bool saturated = x[y] == m && rest < 1;
    kernels::exp_scale_row(x, out, n, m, static_cast<T>(g * terms.total / sum),
                           past_caches && terms.spread == 0);
    if (terms.spread != 0) {
      for (std::int64_t c = 0; c < n; ++c) out[c] -= static_cast<T>(g * terms.spread * classes.weight_of(c));
    }
    if (!saturated) {
      out[y] -= static_cast<T>(g * terms.hit);
      return;
    }
    // P of the target is above one half: 1 − P is what the others have.
    const double of_others = static_cast<double>(rest) / sum;
    const double spread = terms.spread * (classes.weight_sum - classes.weight_of(y));
    out[y] = static_cast<T>(g * (spread - of_others * terms.total));
  }
};

// logits [rows, C] → losses [rows]; `weight` only where it has a gradient
Tensor index_losses(const Tensor& logits, const Tensor& weight, std::vector<std::int64_t> targets,
                    const Classes& classes) {
  if (!fusion_enabled()) return composite_losses(logits, weight, targets, classes);
  const kernels::FlushSubnormals flush(logits.dtype() == DType::f32);
  const Tensor x = contiguous(logits.detach());
  const auto rows = static_cast<std::int64_t>(targets.size());
  Tensor loss = empty({rows}, x.dtype());
  Tensor max = empty({rows}, x.dtype());
  Tensor others = empty({rows}, x.dtype());
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* px = x.data<T>();
    T* pl = loss.mutable_data<T>();
    T* pm = max.mutable_data<T>();
    T* po = others.mutable_data<T>();
    const std::int64_t n = classes.count;
    parallel_for(rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      kernels::max_and_others_rows(px + begin * n, pm + begin, po + begin, end - begin, n);
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t y = targets[static_cast<std::size_t>(r)];
        pl[r] = y == classes.ignore_index ? T(0) : row_loss(px + r * n, pm[r], po[r], y, classes);
      }
    });
  });
  record(cross_entropy_op, {&logits, &weight}, loss, [&] {
    return CrossEntropyVjp{save_input(logits, "logits"), save_input(weight, "weight"), save_input(max, "max"),
                           save_input(others, "others"), std::move(targets),           classes};
  });
  return loss;
}

// logits and target [rows, C] → losses [rows]
Tensor probability_losses(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const auto classes = static_cast<double>(logits.size(1));
  Tensor coefficient = target;
  if (options.label_smoothing != 0) {
    coefficient = add(mul(target, 1 - options.label_smoothing), options.label_smoothing / classes);
  }
  if (options.weight.defined()) coefficient = mul(coefficient, options.weight);
  return weighted_losses(coefficient, log_softmax(logits));
}

struct Rows {
  Tensor logits;       // [rows, C]
  Shape losses_shape;  // shape of the losses before reduction
};

Rows check_and_flatten(const Tensor& logits, const CrossEntropyOptions& options) {
  check_floating(cross_entropy_op, "logits", logits);
  check_rank(cross_entropy_op, "logits", logits, 1);
  check_value(options.label_smoothing >= 0 && options.label_smoothing <= 1, cross_entropy_op,
              "label_smoothing", options.label_smoothing, "0 <= label_smoothing <= 1");
  const int class_axis = logits.rank() == 1 ? 0 : 1;
  const std::int64_t classes = logits.shape()[class_axis];
  if (options.weight.defined()) {
    check_same_dtype(cross_entropy_op, "logits", logits, "weight", options.weight);
    check_shape(cross_entropy_op, "weight", options.weight, {classes}, "one number for each class");
  }
  Rows rows{logits, logits.shape()};
  rows.losses_shape.erase(class_axis);
  if (logits.rank() > 2) {
    Shape axes;
    for (int k = 0; k < logits.rank(); ++k) {
      if (k != 1) axes.push_back(k);
    }
    axes.push_back(1);
    rows.logits = permute(logits, axes);
  }
  rows.logits = reshape(rows.logits, {element_count(rows.losses_shape), classes});
  return rows;
}

struct Losses {
  Tensor each;
  double weight;                // divisor of the mean
  Tensor recorded_weight = {};  // the same, where it has a gradient
};

// Σ w_y over the kept rows, recorded.
Tensor kept_weight(const Tensor& weight, const std::vector<std::int64_t>& targets, const Classes& classes) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t y : targets) {
    if (y != classes.ignore_index) kept.push_back(y);
  }
  const auto n = static_cast<std::int64_t>(kept.size());
  return sum(index_select(weight, 0, from_span(std::span<const std::int64_t>(kept), {n})));
}

Losses losses_of(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Rows rows = check_and_flatten(logits, options);
  check_defined(cross_entropy_op, "target", target);
  if (is_floating(target.dtype())) {
    check_same_dtype(cross_entropy_op, "logits", logits, "target", target);
    check_shape(cross_entropy_op, "target", target, logits.shape(), "the shape of logits, for probabilities");
    const Tensor p = check_and_flatten(target, options).logits;
    const Tensor each = probability_losses(rows.logits, p, options);
    return {reshape(each, rows.losses_shape), static_cast<double>(rows.logits.size(0))};
  }
  check_dtype(cross_entropy_op, "target", target, {DType::i32, DType::i64});
  check_shape(cross_entropy_op, "target", target, rows.losses_shape,
              "the shape of logits without the class axis");
  const Classes classes = classes_of(rows.logits.size(1), options);
  std::vector<std::int64_t> indices = index_targets(target, classes);
  double weight = 0;
  for (const std::int64_t y : indices) weight += y == classes.ignore_index ? 0 : classes.weight_of(y);
  const Tensor learned = options.weight.requires_grad() ? options.weight : Tensor();
  const Tensor recorded = learned.defined() ? kept_weight(learned, indices, classes) : Tensor();
  const Tensor each = index_losses(rows.logits, learned, std::move(indices), classes);
  return {reshape(each, rows.losses_shape), weight, recorded};
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Losses losses = losses_of(logits, target, options);
  if (options.reduction == Reduction::none) return losses.each;
  const Tensor total = sum(losses.each);
  if (options.reduction == Reduction::sum) return total;
  if (!losses.recorded_weight.defined()) return mul(total, losses.weight == 0 ? 0.0 : 1.0 / losses.weight);
  const Tensor none = eq(losses.recorded_weight.detach(), 0);
  return div(masked_fill(total, none, 0), masked_fill(losses.recorded_weight, none, 1));
}

LossSum cross_entropy_sum(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Losses losses = losses_of(logits, target, options);
  return {sum(losses.each), losses.weight};
}

}  // namespace heed
