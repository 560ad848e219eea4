#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Affine map of the last axis:  y = x Wᵀ + b.
/// Shapes    x [.., in], weight [out, in], bias [out] (or undefined) → y [.., out].        DTypes  f32, f64.
/// Gradient  dx = dy W, dW = Σ_rows dyᵀ x, db = Σ_rows dy.                                 Order   any.
/// Saves     x, weight.
/// Throws    ShapeError (x[-1] != in, bias not [out], weight not 2-D), DTypeError.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace heed
