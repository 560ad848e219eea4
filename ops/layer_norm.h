#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// Normalisation over the last axes:  y = x̂ ⊙ weight + bias,  x̂ = (x − μ) / √(σ² + ε),
/// with the mean μ and the biased variance σ² of each row.
/// Shapes    x [.., normalized_shape] → y, same shape; weight, bias [normalized_shape] or undefined.
/// DTypes    f32, f64.
/// Gradient  g = dy ⊙ weight, dx = (g − mean g − x̂ mean(g ⊙ x̂)) / √(σ² + ε),
///           dweight = Σ_rows dy ⊙ x̂, dbias = Σ_rows dy.
/// Order     any.
/// Edge      a constant row gives bias; with ε = 0 it is 0/0, NaN. Rows whose squares would not
///           fit are scaled by a power of two before.
/// Saves     x, weight, μ and 1/√(σ² + ε) of each row.
/// Throws    ShapeError (x does not end in normalized_shape, weight or bias of another shape),
///           DTypeError, ValueError (ε < 0).
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double epsilon = 1e-5);

}  // namespace heed
