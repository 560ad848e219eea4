#include <cmath>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/record.h>
#include <heed/ops/activation.h>
#include <heed/ops/activation_more.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/clamp.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/power.h>
#include <heed/ops/rounding.h>
#include <heed/ops/slice.h>
#include <heed/ops/where.h>

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

struct EluVjp {
  SavedTensor x;
  double alpha = 1;
  void vjp(VjpContext& context) const {  // y = x > 0 ? x : α (e^x − 1)
    const Tensor x_ = context.unpack(x);
    // Clamped first: an overflow on the branch not taken would meet a cotangent of 0.
    const Tensor slope = mul(exp(clamp(x_, {}, 0.0)), alpha);
    context.set(0, mul(context.cotangent(), where(gt(x_, 0), 1, slope)));
  }
};

struct LeakyReluVjp {
  SavedTensor x;
  double slope = 0;
  void vjp(VjpContext& context) const {  // y = x > 0 ? x : slope x
    const Tensor& dy = context.cotangent();
    context.set(0, where(gt(context.unpack(x), 0), dy, mul(dy, slope)));
  }
};

struct Relu6Vjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = min(max(x, 0), 6)
    const Tensor x_ = context.unpack(x);
    context.set(0, where(logical_and(gt(x_, 0), lt(x_, 6)), context.cotangent(), 0));
  }
};

struct HardswishVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = x min(max(x + 3, 0), 6) / 6
    const Tensor x_ = context.unpack(x);
    const Tensor slope = where(gt(x_, 3), 1, add(mul(x_, 1.0 / 3), 0.5));
    context.set(0, mul(context.cotangent(), where(lt(x_, -3), 0, slope)));
  }
};

struct SoftsignVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = x / (1 + |x|)
    context.set(0, div(context.cotangent(), square(add(abs(context.unpack(x)), 1))));
  }
};

struct Halves {
  Tensor first, second;
};

Halves halves_of(const char* op, const Tensor& x, std::int64_t axis) {
  check_floating(op, "x", x);
  check_rank(op, "x", x, 1);
  const int k = normalize_axis(op, axis, x.rank());
  if (x.size(k) % 2 != 0) {
    fail<ShapeError>(op, "axis does not halve", fmt::format("axis {} of {}", k, x.shape().str()),
                     "an even size");
  }
  const std::int64_t n = x.size(k) / 2;
  return {narrow(x, k, 0, n), narrow(x, k, n, n)};
}

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
  return mul(x, tanh(softplus(x)));
}

Tensor elu(const Tensor& x, double alpha) {
  check_floating("elu", "x", x);
  Tensor y = detail::map_floating(
      x, [alpha](auto v) { return v > 0 ? v : static_cast<decltype(v)>(alpha) * std::expm1(v); });
  record("elu", {&x}, y, [&] { return EluVjp{save_input(x, "x"), alpha}; });
  return y;
}

Tensor leaky_relu(const Tensor& x, double slope) {
  check_floating("leaky_relu", "x", x);
  Tensor y =
      detail::map_floating(x, [slope](auto v) { return v > 0 ? v : static_cast<decltype(v)>(slope) * v; });
  record("leaky_relu", {&x}, y, [&] { return LeakyReluVjp{save_input(x, "x"), slope}; });
  return y;
}

Tensor relu6(const Tensor& x) {
  check_floating("relu6", "x", x);
  Tensor y = detail::map_floating(x, [](auto v) {
    using T = decltype(v);
    return v < 0 ? T(0) : v > 6 ? T(6) : v;  // NaN compares false twice
  });
  record("relu6", {&x}, y, [&] { return Relu6Vjp{save_input(x, "x")}; });
  return y;
}

Tensor hardswish(const Tensor& x) {
  check_floating("hardswish", "x", x);
  Tensor y = detail::map_floating(x, [](auto v) {
    using T = decltype(v);
    return v < -3 ? T(0) : v > 3 ? v : v * (v + 3) / 6;
  });
  record("hardswish", {&x}, y, [&] { return HardswishVjp{save_input(x, "x")}; });
  return y;
}

Tensor softsign(const Tensor& x) {
  check_floating("softsign", "x", x);
  Tensor y = detail::map_floating(x, [](auto v) { return v / (1 + std::abs(v)); });
  record("softsign", {&x}, y, [&] { return SoftsignVjp{save_input(x, "x")}; });
  return y;
}

Tensor glu(const Tensor& x, std::int64_t axis) {
  const Halves halves = halves_of("glu", x, axis);
  return mul(halves.first, sigmoid(halves.second));
}

Tensor swiglu(const Tensor& x, std::int64_t axis) {
  const Halves halves = halves_of("swiglu", x, axis);
  return mul(silu(halves.first), halves.second);
}

}  // namespace heed
