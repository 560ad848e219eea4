#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Softmax along one axis:  y_i = exp(x_i - m) / Σ_j exp(x_j - m),  m = max_j x_j.
/// Shapes    x [.., n, ..] → y, same shape.        DTypes  f32, f64.
/// Gradient  dx = y ⊙ (dy − Σ_axis dy ⊙ y).        Order   any.
/// Saves     y.
/// Edge      n == 0 → empty. A row that is all −inf, or holds +inf, → NaN (attention defines
///           its own dead rows).
/// Throws    IndexError (axis), DTypeError (x not floating).
Tensor softmax(const Tensor& x, std::int64_t axis = -1);

/// Logarithm of softmax:  y_i = x_i − m − log Σ_j exp(x_j − m).
/// Shapes    x [.., n, ..] → y, same shape.        DTypes  f32, f64.
/// Gradient  dx = dy − softmax(x) Σ_axis dy.       Order   any.
/// Saves     y.
/// Edge      n == 0 → empty. A row that is all −inf → NaN.
/// Throws    IndexError (axis), DTypeError (x not floating).
Tensor log_softmax(const Tensor& x, std::int64_t axis = -1);

}  // namespace heed
