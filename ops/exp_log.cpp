#include <cmath>
#include <numbers>

#include <heed/core/arguments.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/elementwise.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/kernels/elementwise_kernels.h>

namespace heed {
namespace {

struct ExpVjp {
  SavedTensor y;
  void vjp(VjpContext& context) const {  // y = e^x
    const Tensor y_ = context.unpack(y);
    context.set(0, mul(context.cotangent(), y_));
  }
};

struct Expm1Vjp {
  SavedTensor x;                         // y + 1 is 0 long before e^x is
  void vjp(VjpContext& context) const {  // y = e^x − 1
    context.set(0, mul(context.cotangent(), exp(context.unpack(x))));
  }
};

struct LogVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = log x
    const Tensor x_ = context.unpack(x);
    context.set(0, div(context.cotangent(), x_));
  }
};

struct Log1pVjp {
  SavedTensor x;
  void vjp(VjpContext& context) const {  // y = log(1 + x)
    const Tensor x_ = context.unpack(x);
    context.set(0, div(context.cotangent(), add(x_, 1)));
  }
};

}  // namespace

Tensor exp(const Tensor& x) {
  check_floating("exp", "x", x);
  Tensor y = detail::map_floating(kernels::Map::exp, x, [](double v) { return std::exp(v); });
  record("exp", {&x}, y, [&] { return ExpVjp{save_output(y, "y")}; });
  return y;
}

Tensor expm1(const Tensor& x) {
  check_floating("expm1", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::expm1(v); });
  });
  record("expm1", {&x}, y, [&] { return Expm1Vjp{save_input(x, "x")}; });
  return y;
}

Tensor log(const Tensor& x) {
  check_floating("log", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::log(v); });
  });
  record("log", {&x}, y, [&] { return LogVjp{save_input(x, "x")}; });
  return y;
}

Tensor log1p(const Tensor& x) {
  check_floating("log1p", "x", x);
  Tensor y = visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return detail::map_unary<T>(x, [](T v) { return std::log1p(v); });
  });
  record("log1p", {&x}, y, [&] { return Log1pVjp{save_input(x, "x")}; });
  return y;
}

}  // namespace heed
