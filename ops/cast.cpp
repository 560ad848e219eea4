#include <type_traits>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/record.h>
#include <heed/ops/cast.h>
#include <heed/ops/elementwise.h>

namespace heed {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturated<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

struct CastVjp {
  DType from = DType::f32;
  void vjp(VjpContext& context) const { context.set(0, cast(context.cotangent(), from)); }  // y = cast(x)
};

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", "x", x);
  if (dtype == DType::bf16)
    fail<DTypeError>("cast", "dtype is reserved", "bf16", "boolean, i32, i64, f32 or f64");
  if (x.dtype() == dtype) return x;
  Tensor y = visit_dtype(x.dtype(), [&]<class From>(std::type_identity<From>) {
    return visit_dtype(dtype, [&]<class To>(std::type_identity<To>) {
      return detail::map_unary<From>(x, [](From v) { return convert<To>(v); });
    });
  });
  if (is_floating(dtype)) {
    record("cast", {&x}, y, [&] { return CastVjp{x.dtype()}; });
  }
  return y;
}

}  // namespace heed
