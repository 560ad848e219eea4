#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/attention.h>
#include <heed/ops/kernels/attention.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/where.h>

namespace heed::detail {
namespace {

// Sizes and the row ranges that causal and window leave open; `add` holds bias and −inf for what else is closed.
struct Problem {
  std::int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  double scale;
  std::vector<AttentionMask::Range> open;  // one a query
  Tensor add;  // [batch, heads, queries, keys] view with unit stride in the last axis, or undefined
  std::int64_t groups() const { return heads / kv_heads; }
};

bool blas_rows(const Tensor& x) {  // [B, H, T, D] whose rows BLAS can walk
  return x.rank() == 4 && (x.strides()[3] == 1 || x.size(3) == 1) &&
         (x.strides()[2] >= x.size(3) || x.size(2) == 1);
}

Problem problem_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  Problem p{q.size(0), q.size(1), k.size(1), q.size(2), k.size(2), q.size(3), v.size(3), 0, {}, {}};
  p.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(p.size)));
  for (std::int64_t i = 0; i < p.queries; ++i)
    p.open.push_back(options.mask.open_range(i, p.queries, p.keys));
  if (!options.mask.only_positional()) {
    const NoGrad guard;
    const Shape shape{p.batch, p.heads, p.queries, p.keys};
    Tensor add = options.mask.additive(shape, q.dtype());
    if (!add.defined()) add = zeros({1, p.keys}, q.dtype());
    const Tensor open = options.mask.open_pairs(shape);
    if (open.defined()) add = where(open, add, -std::numeric_limits<double>::infinity());
    if (add.rank() == 0 || add.size(-1) != p.keys || add.strides()[add.rank() - 1] != 1) {
      Shape widened = add.rank() == 0 ? Shape{1} : add.shape();
      widened[widened.rank() - 1] = p.keys;
      add = copy_of(view_of(add, expand_view("attention", add.view(), widened)));
    }
    p.add = view_of(add, expand_view("attention", add.view(), shape));
  }
  return p;
}

// First element of head (b, h).
template <class T>
const T* head(const Tensor& x, std::int64_t b, std::int64_t h) {
  return x.data<T>() + b * x.strides()[0] + h * x.strides()[1];
}

// Rows of one head as BLAS takes them: the stride of a single row means nothing.
std::int64_t leading(const Tensor& x) {
  return x.size(2) == 1 ? std::max<std::int64_t>(x.size(3), 1) : x.strides()[2];
}

// [B, T, H, D] in memory seen as [B, H, T, D], so that merging the heads again is a view.
Tensor empty_heads(std::int64_t batch, std::int64_t heads, std::int64_t time, std::int64_t size,
                   DType dtype) {
  const Tensor y = empty({batch, time, heads, size}, dtype);
  return view_of(y, permute_view("attention", y.view(), {0, 2, 1, 3}));
}

template <class T>
void forward(const Problem& p, const Tensor& q, const Tensor& k, const Tensor& v, Tensor& weights,
             Tensor& output) {
  T* w = weights.mutable_data<T>();
  T* o = output.mutable_data<T>();
  const auto task = [&](std::int64_t b, std::int64_t h) {
    const std::int64_t kv = h / p.groups();
    T* s = w + (b * p.heads + h) * p.queries * p.keys;
    // s [Tq, Tk] = q kᵀ
    kernels::gemm<T>(p.queries, p.keys, p.size, {head<T>(q, b, h), leading(q)},
                     {head<T>(k, b, kv), leading(k), true}, T(0), {s, p.keys});
    for (std::int64_t i = 0; i < p.queries; ++i) {
      const auto [begin, end] = p.open[static_cast<std::size_t>(i)];
      const T* add = p.add.defined() ? head<T>(p.add, b, h) + i * p.add.strides()[2] : nullptr;
      kernels::attention_row(s + i * p.keys, begin, end, p.keys, static_cast<T>(p.scale), add);
    }
    // o [Tq, Dv] = P v
    kernels::gemm<T>(p.queries, p.value_size, p.keys, {s, p.keys}, {head<T>(v, b, kv), leading(v)}, T(0),
                     {o + b * output.strides()[0] + h * output.strides()[1], leading(output)});
  };
  const std::int64_t heads = p.batch * p.heads;
  parallel_for(heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) task(i / p.heads, i % p.heads);
  });
}

struct Gradients {
  Tensor dq, dk, dv;
};

// A task owns one key head of one sample: the query heads of its group add to it in their order.
template <class T>
void backward_group(const Problem& p, const Tensor& q, const Tensor& k, const Tensor& v,
                    const Tensor& weights, const Tensor& output, const Tensor& d_output,
                    const std::array<T*, 3>& out, const Gradients& g, std::int64_t b, std::int64_t kv) {
  const Tensor scratch = empty({p.queries, p.keys}, q.dtype());
  T* ds = const_cast<T*>(scratch.data<T>());  // fresh, owned by this task
  const auto at = [&](T* base, const Tensor& x, std::int64_t h) {
    return base + b * x.strides()[0] + h * x.strides()[1];
  };
  for (std::int64_t h = kv * p.groups(); h < (kv + 1) * p.groups(); ++h) {
    const T* w = head<T>(weights, b, h);
    const T* d_o = head<T>(d_output, b, h);
    const T* o = head<T>(output, b, h);
    const T beta = h % p.groups() == 0 ? T(0) : T(1);
    // dV += Pᵀ dO
    if (out[2] != nullptr) {
      kernels::gemm<T>(p.keys, p.value_size, p.queries, {w, p.keys, true}, {d_o, leading(d_output)}, beta,
                       {at(out[2], g.dv, kv), leading(g.dv)});
    }
    if (out[0] == nullptr && out[1] == nullptr) continue;
    // dP = dO Vᵀ, dS = scale · P ⊙ (dP − Δ), Δ_i = dO_i · O_i
    kernels::gemm<T>(p.queries, p.keys, p.value_size, {d_o, leading(d_output)},
                     {head<T>(v, b, kv), leading(v), true}, T(0), {ds, p.keys});
    for (std::int64_t i = 0; i < p.queries; ++i) {
      const auto [begin, end] = p.open[static_cast<std::size_t>(i)];
      const T delta = kernels::dot_row(d_o + i * leading(d_output), o + i * leading(output), p.value_size);
      kernels::attention_vjp_row(w + i * p.keys, ds + i * p.keys, begin, end, p.keys, static_cast<T>(p.scale),
                                 delta);
    }
    // dQ = dS K, dK += dSᵀ Q
    if (out[0] != nullptr) {
      kernels::gemm<T>(p.queries, p.size, p.keys, {ds, p.keys}, {head<T>(k, b, kv), leading(k)}, T(0),
                       {at(out[0], g.dq, h), leading(g.dq)});
    }
    if (out[1] != nullptr) {
      kernels::gemm<T>(p.keys, p.size, p.queries, {ds, p.keys, true}, {head<T>(q, b, h), leading(q)}, beta,
                       {at(out[1], g.dk, kv), leading(g.dk)});
    }
  }
}

struct IdentityVjp {
  void vjp(VjpContext& context) const { context.set(0, context.cotangent()); }
};

// A result of its own with the history of x, so that gradients with respect to it stop there.
Tensor alias(const Tensor& x) {
  Tensor y = view_of(x, x.view());
  record("alias", {&x}, y, [] { return IdentityVjp{}; });
  return y;
}

struct AttentionVjp {
  SavedTensor q, k, v, weights, output;
  AttentionOptions options;

  void vjp(VjpContext& context) const {  // O = softmax(scale · q kᵀ + add) v
    if (context.recording()) {
      composite(context);
    } else {
      visit_floating(context.cotangent().dtype(), [&]<class T>(std::type_identity<T>) { fused<T>(context); });
    }
  }

  // Differentiates the composite form; its graph keeps the history of q, k and v, so the result has derivatives.
  void composite(VjpContext& context) const {
    const std::array<Tensor, 3> operands{context.unpack(q), context.unpack(k), context.unpack(v)};
    std::vector<Tensor> x;
    std::vector<Tensor> wanted;
    std::vector<int> places;
    for (int i = 0; i < 3; ++i) {
      x.push_back(alias(operands[static_cast<std::size_t>(i)]));
      if (!context.needs(i)) continue;
      wanted.push_back(x.back());
      places.push_back(i);
    }
    const Tensor y = attention_composite(x[0], x[1], x[2], options).output;
    const std::vector<Tensor> gradients =
        heed::grad(std::span(&y, 1), wanted, {.grad_outputs = {context.cotangent()}, .create_graph = true});
    for (std::size_t i = 0; i < places.size(); ++i) context.set(places[i], gradients[i]);
  }

  template <class T>
  void fused(VjpContext& context) const {
    const Tensor q_ = context.unpack(q);
    const Tensor k_ = context.unpack(k);
    const Tensor v_ = context.unpack(v);
    const Tensor w = context.unpack(weights);
    const Tensor o = context.unpack(output);
    const Problem p = problem_of(q_, k_, v_, options);
    const Tensor d_output =
        blas_rows(context.cotangent()) ? context.cotangent() : copy_of(context.cotangent());
    Gradients g;
    std::array<T*, 3> out{};
    const auto make = [&](int i, Tensor& x, std::int64_t heads, std::int64_t time, std::int64_t size) {
      if (!context.needs(i)) return;
      x = empty_heads(p.batch, heads, time, size, q_.dtype());
      out[static_cast<std::size_t>(i)] = x.mutable_data<T>();
    };
    make(0, g.dq, p.heads, p.queries, p.size);
    make(1, g.dk, p.kv_heads, p.keys, p.size);
    make(2, g.dv, p.kv_heads, p.keys, p.value_size);
    parallel_for(p.batch * p.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        backward_group<T>(p, q_, k_, v_, w, o, d_output, out, g, i / p.kv_heads, i % p.kv_heads);
      }
    });
    if (g.dq.defined()) context.set(0, g.dq);
    if (g.dk.defined()) context.set(1, g.dk);
    if (g.dv.defined()) context.set(2, g.dv);
  }
};

}  // namespace

bool attention_fusible(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  if (options.softcap > 0 || options.sink.defined() || options.dropout_keep.defined() || options.need_lse)
    return false;
  if (options.mask.requires_grad() || (options.need_weights && will_record({&q, &k, &v}))) return false;
  if (!blas_rows(q) || !blas_rows(k) || !blas_rows(v)) return false;
  if (q.size(0) != k.size(0) || q.size(0) != v.size(0)) return false;
  return q.numel() > 0 && k.numel() > 0 && v.numel() > 0;
}

AttentionResult attention_fused(const Tensor& q, const Tensor& k, const Tensor& v,
                                const AttentionOptions& options) {
  const Problem p = problem_of(q, k, v, options);
  Tensor weights = empty({p.batch, p.heads, p.queries, p.keys}, q.dtype());
  Tensor output = empty_heads(p.batch, p.heads, p.queries, p.value_size, q.dtype());
  visit_floating(q.dtype(), [&]<class T>(std::type_identity<T>) { forward<T>(p, q, k, v, weights, output); });
  record("attention", {&q, &k, &v}, output, [&] {
    return AttentionVjp{save_input(q, "q"),
                        save_input(k, "k"),
                        save_input(v, "v"),
                        save_input(weights, "weights"),
                        save_output(output, "output"),
                        options};
  });
  return {output, options.need_weights ? weights : Tensor(), {}};
}

}  // namespace heed::detail
