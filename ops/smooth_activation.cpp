#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/rounding.h>
#include <heed/ops/smooth_activation.h>
#include <heed/ops/smooth_derivative.h>

namespace heed {
namespace {

template <class T>
T softplus_value(T v) {
  return std::log1p(std::exp(-std::abs(v))) + (v < 0 ? T(0) : v);  // NaN takes the second branch
}

struct SoftplusVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = log(1 + e^x)
    context.set(0, mul(context.cotangent(), sigmoid(context.unpack(x))));
  }
};

struct LogSigmoidVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = −log(1 + e^−x)
    context.set(0, mul(context.cotangent(), sigmoid(neg(context.unpack(x)))));
  }
};

struct SoftsignVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = x / (1 + |x|)
    const Tensor d = add(abs(context.unpack(x)), 1);
    context.set(0, div(div(context.cotangent(), d), d));  // d² may overflow
  }
};

}  // namespace

Tensor softplus(const Tensor& x) {
  check_floating("softplus", "x", x);
  Tensor y = detail::map_floating(x, [](auto v) { return softplus_value(v); });
  record("softplus", {&x}, y, [&] { return SoftplusVjp{save_input(x, "x")}; });
  return y;
}

Tensor log_sigmoid(const Tensor& x) {
  check_floating("log_sigmoid", "x", x);
  Tensor y = detail::map_floating(x, [](auto v) { return -softplus_value(-v); });
  record("log_sigmoid", {&x}, y, [&] { return LogSigmoidVjp{save_input(x, "x")}; });
  return y;
}

Tensor mish(const Tensor& x) {
  check_floating("mish", "x", x);
  Tensor y = detail::smooth_value(detail::Smooth::mish, x);
  detail::record_smooth("mish", detail::Smooth::mish, x, y);
  return y;
}

Tensor softsign(const Tensor& x) {
  check_floating("softsign", "x", x);
  Tensor y = detail::map_floating(
      x, [](auto v) { return std::isinf(v) ? std::copysign(decltype(v)(1), v) : v / (1 + std::abs(v)); });
  record("softsign", {&x}, y, [&] { return SoftsignVjp{save_input(x, "x")}; });
  return y;
}

}  // namespace heed
