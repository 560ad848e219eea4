#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Root-mean-square normalisation over the last axes:  y = x / √(mean x² + ε) ⊙ weight.
/// Shapes    x [.., normalized_shape] → y, same shape; weight [normalized_shape] or undefined.
/// DTypes    f32, f64.
/// Gradient  g = dy ⊙ weight, r = 1/√(mean x² + ε), x̂ = x r, dx = r (g − x̂ mean(g ⊙ x̂)),
///           dweight = Σ_rows dy ⊙ x̂.
/// Order     any.
/// Edge      a row of zeros gives zeros; with ε = 0 it is 0/0, NaN. Rows whose squares would not
///           fit are scaled by a power of two before.
/// Saves     x, weight, r of each row.
/// Throws    ShapeError (x does not end in normalized_shape, weight of another shape), DTypeError,
///           ValueError (ε < 0).
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                double epsilon = 1e-6);

}  // namespace heed
