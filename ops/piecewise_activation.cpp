#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/piecewise_activation.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

struct EluVjp {
  SavedTensor x;
  double alpha = 1;
  void vjp(VjpContext& context) const {  // y = x > 0 ? x : α (e^x − 1)
    const Tensor x_ = context.unpack(x);
    // Chosen first: an overflow on the branch not taken would meet a cotangent of 0.
    const Tensor above = gt(x_, 0);
    const Tensor slope = mul(exp(masked_fill(x_, above, 0)), alpha);
    context.set(0, mul(context.cotangent(), where(above, 1, slope)));
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

}  // namespace

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

}  // namespace heed
