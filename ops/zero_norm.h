#pragma once

#include <heed/core/vjp_context.h>

namespace heed::detail {

/// The cotangent of a norm y in the shape `kept`, with 0 where y is 0. While another norm asks what its
/// cotangent depends on, it is NaN there instead, unless it was 0.
Tensor cotangent_of_norm(const Tensor& dy, const Tensor& y, const Shape& kept);

/// How the recorded rule of a norm y = |v| goes on where y is 0.
struct ZeroNorm {
  Tensor x;               ///< operand, with its history
  Tensor y;               ///< result, with its history
  Tensor v;               ///< what the norm is of, in x's shape, with its history: dv = (v / y) dy
  Shape kept;             ///< y's shape with the reduced axes as 1
  bool euclidean = true;  ///< the square of the norm has a second derivative at 0
  bool kinks = true;      ///< where dy is not 0 there is a corner, and no second derivative; without: it is 0
};

/// The part of dv in rows with y = 0, zeros elsewhere; undefined if there is none. Its value is 0 (a norm
/// has no direction there), but it has derivatives: where dy is 0 too and a function of y alone, as of y²,
/// dv = v (dy / y) becomes v ∂dy/∂y, so that |v|² has the second derivative 2. Otherwise there is none, and
/// whoever asks for it gets NaN.
Tensor slope_at_zero_norm(VjpContext& context, const ZeroNorm& norm);

}  // namespace heed::detail
