#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/activation.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/kernels/elementwise_kernels.h>
#include <heed/ops/smooth_derivative.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

using detail::Smooth;

double logistic(double v) { return v >= 0 ? 1 / (1 + std::exp(-v)) : std::exp(v) / (1 + std::exp(v)); }

// f32 by the vector kernel, f64 by the formula in a wider type.
Tensor value_of(Smooth f, kernels::Map kernel, const Tensor& x) {
  return x.dtype() == DType::f32 ? detail::map_kernel(kernel, x) : detail::smooth_value(f, x);
}

struct ReluVjp {
  SavedTensor y;                         // has the sign of x, and the next operation often keeps it anyway
  void vjp(VjpContext& context) const {  // y = max(x, 0)
    const Tensor y_ = context.unpack(y);
    if (context.fused() && y_.dtype() == DType::f32) {
      context.set(0, detail::map_kernel(kernels::Map2::relu_vjp, y_, context.take_cotangent()));
    } else {
      context.set(0, where(le(y_, 0), 0, context.cotangent()));
    }
  }
};

}  // namespace

Tensor sigmoid(const Tensor& x) {
  check_floating("sigmoid", "x", x);
  Tensor y = detail::map_floating(kernels::Map::sigmoid, x, [](double v) { return logistic(v); });
  detail::record_smooth("sigmoid", Smooth::sigmoid, x, y);
  return y;
}

Tensor tanh(const Tensor& x) {
  check_floating("tanh", "x", x);
  Tensor y = detail::map_floating(kernels::Map::tanh, x, [](double v) { return std::tanh(v); });
  detail::record_smooth("tanh", Smooth::tanh, x, y);
  return y;
}

Tensor erf(const Tensor& x) {
  check_floating("erf", "x", x);
  Tensor y = detail::map_floating(kernels::Map::erf, x, [](double v) { return std::erf(v); });
  detail::record_smooth("erf", Smooth::erf, x, y);
  return y;
}

Tensor relu(const Tensor& x) {
  check_floating("relu", "x", x);
  Tensor y = detail::map_floating(kernels::Map::relu, x, [](double v) { return (v < 0 ? 0 : v); });
  record("relu", {&x}, y, [&] { return ReluVjp{save_output(y, "y")}; });
  return y;
}

Tensor silu(const Tensor& x) {
  check_floating("silu", "x", x);
  Tensor y = value_of(Smooth::silu, kernels::Map::silu, x);
  detail::record_smooth("silu", Smooth::silu, x, y);
  return y;
}

Tensor gelu(const Tensor& x, Gelu approximate) {
  check_floating("gelu", "x", x);
  const bool exact = approximate == Gelu::none;
  const Smooth f = exact ? Smooth::gelu : Smooth::gelu_tanh;
  Tensor y = value_of(f, exact ? kernels::Map::gelu : kernels::Map::gelu_tanh, x);
  detail::record_smooth("gelu", f, x, y);
  return y;
}

}  // namespace heed
