#pragma once

#include <heed/core/tensor.h>

namespace heed {

/// y = log(1 + e^x), without overflow.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy sigmoid(x).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor softplus(const Tensor& x);

/// y = log sigmoid(x) = −softplus(−x), without overflow.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy sigmoid(−x).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor log_sigmoid(const Tensor& x);

/// y = x tanh(softplus(x)).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy (t + x (1 − t²) sigmoid(x)), t = tanh(softplus(x)).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor mish(const Tensor& x);

/// y = x / (1 + |x|).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / (1 + |x|)².        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor softsign(const Tensor& x);

}  // namespace heed
