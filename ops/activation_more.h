#pragma once

#include <cstdint>

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
/// Saves     what the operations it is written in save.
/// Throws    DTypeError.
Tensor mish(const Tensor& x);

/// y = x for x > 0, else α (e^x − 1).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for x > 0, else dy α e^x.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor elu(const Tensor& x, double alpha = 1);

/// y = x for x > 0, else slope · x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for x > 0, else slope · dy.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);

/// y = min(max(x, 0), 6); NaN stays.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy for 0 < x < 6, else 0.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor relu6(const Tensor& x);

/// y = x relu6(x + 3) / 6.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy · (0 for x < −3, x/3 + ½ for −3 <= x <= 3, else 1).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor hardswish(const Tensor& x);

/// y = x / (1 + |x|).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy / (1 + |x|)².        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor softsign(const Tensor& x);

/// Gated linear unit:  y = a sigmoid(b), a and b the first and the second half of x along `axis`.
/// Shapes    x [.., 2n, ..] → y [.., n, ..].        DTypes  f32, f64.
/// Gradient  da = dy s, db = dy a s (1 − s), s = sigmoid(b).        Order   any.
/// Saves     what the operations it is written in save.
/// Throws    DTypeError, IndexError (axis), ShapeError (no axis, or an odd size along it).
Tensor glu(const Tensor& x, std::int64_t axis = -1);

/// y = silu(a) b, a and b the first and the second half of x along `axis`.
/// Shapes    x [.., 2n, ..] → y [.., n, ..].        DTypes  f32, f64.
/// Gradient  da = dy b silu'(a), db = dy silu(a).        Order   any.
/// Saves     what the operations it is written in save.
/// Throws    DTypeError, IndexError (axis), ShapeError (no axis, or an odd size along it).
Tensor swiglu(const Tensor& x, std::int64_t axis = -1);

}  // namespace heed
