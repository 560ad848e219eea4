#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/kernels/rows.h>
#include <heed/ops/norm_rows.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>

namespace heed::detail {
namespace {

// Rows a chunk takes: its partial dweight and dbias are joined in the order of the chunks.
std::int64_t rows_per_chunk(std::int64_t n) {
  return std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(n, 1));
}

template <class T>
kernels::NormRows<T> operands(bool center, double epsilon, const Tensor& x, const Tensor& weight,
                              const Tensor& bias) {
  return {center,
          x.size(-1),
          epsilon,
          x.data<T>(),
          weight.defined() ? weight.data<T>() : nullptr,
          bias.defined() ? bias.data<T>() : nullptr};
}

// (x − μ) r ⊙ weight + bias, of recorded operations.
Tensor composite_rows(bool center, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double epsilon) {
  const Tensor shifted = center ? sub(x, mean(x, {-1}, true)) : x;
  const Tensor rstd = rsqrt(add(mean(square(shifted), {-1}, true), epsilon));
  Tensor y = mul(shifted, rstd);
  if (weight.defined()) y = mul(y, weight);
  return bias.defined() ? add(y, bias) : y;
}

struct NormVjp {
  SavedTensor x, weight, mean, rstd;  // x [rows, n], weight [n], mean [rows, 2], rstd [rows, 1]
  bool center = true;
  double epsilon = 0;

  void vjp(VjpContext& context) const {  // y = (x − μ) r ⊙ weight + bias
    if (!context.fused()) {
      composite(context);
    } else {
      visit_floating(context.cotangent().dtype(), [&]<class T>(std::type_identity<T>) { fused<T>(context); });
    }
  }

  // The bias is not saved: dbias = Σ dy needs none of the others.
  void composite(VjpContext& context) const {
    if (context.needs(0) || context.needs(1)) {
      detail::vjp_of_composite(context, {&x, &weight}, [&](std::span<const Tensor> inputs) {
        return std::vector<Tensor>{composite_rows(center, inputs[0], inputs[1], {}, epsilon)};
      });
    }
    if (context.needs(2)) context.set(2, sum(context.cotangent(), {0}));
  }

  template <class T>
  void fused(VjpContext& context) const {
    const Tensor dy = contiguous(context.cotangent());
    const Tensor x_ = contiguous(context.unpack(x).detach());
    const Tensor w = context.unpack(weight);
    const Tensor dense_w = w.defined() ? contiguous(w.detach()) : Tensor();
    const Tensor mu = context.unpack(mean);
    const Tensor r = context.unpack(rstd);
    const std::int64_t rows = x_.size(0);
    const std::int64_t n = x_.size(1);
    const std::int64_t grain = rows_per_chunk(n);
    const std::int64_t chunks = std::max<std::int64_t>(1, (rows + grain - 1) / grain);
    Tensor dx = context.needs(0) ? empty(x_.shape(), x_.dtype()) : Tensor();
    Tensor dw = context.needs(1) ? zeros({chunks, n}, x_.dtype()) : Tensor();
    Tensor db = context.needs(2) ? zeros({chunks, n}, x_.dtype()) : Tensor();
    T* out = dx.defined() ? dx.mutable_data<T>() : nullptr;
    T* out_w = dw.defined() ? dw.mutable_data<T>() : nullptr;
    T* out_b = db.defined() ? db.mutable_data<T>() : nullptr;
    const auto a = operands<T>(center, epsilon, x_, dense_w, {});
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t part = begin / grain * n;
      kernels::norm_vjp_rows(a, mu.data<T>(), r.data<T>(), dy.data<T>(), out, out_w ? out_w + part : nullptr,
                             out_b ? out_b + part : nullptr, begin, end);
    });
    if (dx.defined()) context.set(0, dx);
    if (dw.defined()) context.set(1, sum(dw, {0}));
    if (db.defined()) context.set(2, sum(db, {0}));
  }
};

// x [rows, n], weight and bias [n]
Tensor normalize_rows(const char* op, bool center, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double epsilon) {
  if (!fusion_enabled()) return composite_rows(center, x, weight, bias, epsilon);
  const Tensor input = contiguous(x.detach());
  const Tensor w = weight.defined() ? contiguous(weight.detach()) : Tensor();
  const Tensor b = bias.defined() ? contiguous(bias.detach()) : Tensor();
  Tensor y = empty(x.shape(), x.dtype());
  Tensor mean = empty({x.size(0), 2}, x.dtype());
  Tensor rstd = empty({x.size(0), 1}, x.dtype());
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto a = operands<T>(center, epsilon, input, w, b);
    T* out = y.mutable_data<T>();
    T* mu = mean.mutable_data<T>();
    T* r = rstd.mutable_data<T>();
    parallel_for(x.size(0), rows_per_chunk(x.size(1)), [&](std::int64_t begin, std::int64_t end) {
      kernels::norm_rows(a, out, mu, r, begin, end);
    });
  });
  record(op, {&x, &weight, &bias}, y, [&] {
    return NormVjp{save_input(x, "x"),
                   save_input(weight, "weight"),
                   save_input(mean, "mean"),
                   save_input(rstd, "rstd"),
                   center,
                   epsilon};
  });
  return y;
}

void check_affine(const char* op, const char* name, const Tensor& x, const Tensor& parameter,
                  const Shape& shape) {
  if (!parameter.defined()) return;
  check_same_dtype(op, "x", x, name, parameter);
  check_shape(op, name, parameter, shape, "the normalized shape");
}

}  // namespace

Tensor normalize(const char* op, bool center, const Tensor& x, const Shape& normalized_shape,
                 const Tensor& weight, const Tensor& bias, double epsilon) {
  check_floating(op, "x", x);
  check_value(epsilon >= 0, op, "epsilon", epsilon, "epsilon >= 0");
  const int lead = x.rank() - normalized_shape.rank();
  const bool fits = lead >= 0 && normalized_shape.rank() > 0 &&
                    std::equal(normalized_shape.begin(), normalized_shape.end(), x.shape().begin() + lead);
  if (!fits) {
    fail<ShapeError>(
        op, "x does not end in the normalized shape",
        fmt::format("x is {} and the normalized shape is {}", x.shape().str(), normalized_shape.str()),
        "x[-k:] == the normalized shape, with one axis or more");
  }
  check_affine(op, "weight", x, weight, normalized_shape);
  check_affine(op, "bias", x, bias, normalized_shape);
  const std::int64_t n = element_count(normalized_shape);
  Shape leading;
  for (int i = 0; i < lead; ++i) leading.push_back(x.shape()[i]);
  const auto flat = [&](const Tensor& p) { return p.defined() ? reshape(p, {n}) : p; };
  const Tensor y =
      normalize_rows(op, center, reshape(x, {element_count(leading), n}), flat(weight), flat(bias), epsilon);
  return reshape(y, x.shape());
}

}  // namespace heed::detail
