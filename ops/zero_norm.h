#pragma once

#include <heed/core/vjp_context.h>

namespace heed::detail {

/// The cotangent of a norm y in the shape `kept`, with 0 where y is 0: a norm has gradient 0 there. But while
/// `slope_at_zero_norm` of another norm traces what that norm's cotangent depends on, a cotangent other than
/// 0 becomes NaN there, because this norm has no slope to trace through.
Tensor cotangent_of_norm(const Tensor& dy, const Tensor& y, const Shape& kept);

/// What the recorded rule of a norm y = |v| needs where y is 0.
struct ZeroNorm {
  Tensor x;               ///< operand, with its history
  Tensor y;               ///< result, with its history
  Tensor v;               ///< what the norm is of, in x's shape, with its history: dv = (v / y) dy
  Shape kept;             ///< y's shape with the reduced axes as 1
  bool euclidean = true;  ///< the square of the norm has a second derivative at 0
  bool kinks = true;      ///< where dy is not 0 there is a kink and no second derivative; false: it is 0
};

/// The part of dv in rows with y = 0, zeros elsewhere; undefined if there are none. Its value is 0, since a
/// norm has no direction there, but it has derivatives. Where dy is 0 too and depends on y alone, as
/// that of y² does, dv = v (dy / y) becomes v ∂dy/∂y, so that |v|² has the second derivative 2. Elsewhere no
/// second derivative exists, and it is NaN for whoever asks.
Tensor slope_at_zero_norm(VjpContext& context, const ZeroNorm& norm);

}  // namespace heed::detail
