#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/core/record.h>
#include <heed/core/strided_loop.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/extremum.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/ops/kernels/rows.h>
#include <heed/ops/norm_rows.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/sum.h>

namespace heed::detail {
namespace {

// How many rows a chunk takes. The dweight and dbias of all chunks are added in the order of the chunks.
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

// For each row the power of two that brings its largest element, or √ε where that is larger, to about 1:
// squares of what is far from it may not fit.
Tensor scales_of(const Tensor& x, double epsilon) {
  const NoGrad guard;
  const std::int64_t rows = x.size(0);
  Tensor scales = ones({rows, 1}, x.dtype());
  if (x.numel() == 0) return scales;
  const Tensor sizes = amax(abs(x.detach()), {-1}, true);
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    constexpr int largest = std::numeric_limits<T>::max_exponent - 8;
    constexpr int near_one = 8;  // derivatives have powers up to size^−7, which must fit too
    for (std::int64_t r = 0; r < rows; ++r) {
      const double size = std::max(static_cast<double>(sizes.data<T>()[r]), std::sqrt(epsilon));
      int exponent = 0;
      std::frexp(size, &exponent);
      if (!(size > 0) || !std::isfinite(size) || std::abs(exponent) <= near_one) continue;
      scales.mutable_data<T>()[r] =
          static_cast<T>(std::ldexp(1.0, std::clamp(-exponent - 1, -largest, largest)));
    }
  });
  return scales;
}

// (x − μ) r ⊙ weight + bias, of recorded operations. The mean is taken out twice: the second time takes what
// its rounding left.
Tensor composite_rows(bool center, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double epsilon) {
  const Tensor scale = scales_of(x, epsilon);
  Tensor z = mul(x, scale);
  if (center) z = sub(z, mean(z, {-1}, true));
  if (center) z = sub(z, mean(z, {-1}, true));
  const Tensor scaled_epsilon = mul(mul(scale, epsilon), scale);
  Tensor y = mul(z, rsqrt(add(mean(square(z), {-1}, true), scaled_epsilon)));
  if (weight.defined()) y = mul(y, weight);
  return bias.defined() ? add(y, bias) : y;
}

// Sums over so many rows are formed in the operand's type, those over more in double.
constexpr std::int64_t rows_together = 32;

// Σ over the rows of a chunk into y [n], zeros before; nothing where y is null.
template <class T>
class PartialSums {
 public:
  PartialSums(T* y, std::int64_t n, std::int64_t rows) : y_(y), n_(static_cast<std::size_t>(n)) {
    if (y != nullptr && rows > rows_together) total_.resize(n_);
  }
  // Where the next rows are added up.
  T* next() {
    take();
    return y_;
  }
  void finish() {
    take();
    for (std::size_t i = 0; i < total_.size(); ++i) y_[i] = static_cast<T>(total_[i]);
  }

 private:
  void take() {
    for (std::size_t i = 0; i < total_.size(); ++i)
      total_[i] += static_cast<double>(std::exchange(y_[i], T(0)));
  }

  T* y_;
  std::size_t n_;
  std::vector<double> total_;
};

struct NormVjp {
  SavedTensor x, weight, statistics;  // [rows, n], [n], [rows, kernels::norm_statistics]
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
    const kernels::FlushSubnormals flush(dtype_of<T> == DType::f32);
    const Tensor dy = contiguous(context.cotangent());
    const Tensor x_ = contiguous(context.unpack(x).detach());
    const Tensor w = context.unpack(weight);
    const Tensor dense_w = w.defined() ? contiguous(w.detach()) : Tensor();
    const Tensor kept = context.unpack(statistics);
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
      PartialSums<T> sums_w(out_w ? out_w + part : nullptr, n, end - begin);
      PartialSums<T> sums_b(out_b ? out_b + part : nullptr, n, end - begin);
      for (std::int64_t r = begin; r < end; r += rows_together) {
        kernels::norm_vjp_rows(a, kept.data<T>(), dy.data<T>(), out, sums_w.next(), sums_b.next(), r,
                               std::min(r + rows_together, end));
      }
      sums_w.finish();
      sums_b.finish();
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
  const kernels::FlushSubnormals flush(x.dtype() == DType::f32);
  const Tensor input = contiguous(x.detach());
  const Tensor w = weight.defined() ? contiguous(weight.detach()) : Tensor();
  const Tensor b = bias.defined() ? contiguous(bias.detach()) : Tensor();
  Tensor y = empty(x.shape(), x.dtype());
  Tensor statistics = empty({x.size(0), kernels::norm_statistics}, x.dtype());
  visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto a = operands<T>(center, epsilon, input, w, b);
    T* out = y.mutable_data<T>();
    T* kept = statistics.mutable_data<T>();
    parallel_for(x.size(0), rows_per_chunk(x.size(1)),
                 [&](std::int64_t begin, std::int64_t end) { kernels::norm_rows(a, out, kept, begin, end); });
  });
  record(op, {&x, &weight, &bias}, y, [&] {
    return NormVjp{save_input(x, "x"), save_input(weight, "weight"), save_input(statistics, "statistics"),
                   center, epsilon};
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
