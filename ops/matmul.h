#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Matrix product with NumPy's rules:  y[.., i, j] = Σ_k a[.., i, k] b[.., k, j].
/// Shapes    a [.., m, k], b [.., k, n] → y [.., m, n]; leading axes broadcast. A 1-D a is a row, a 1-D b a
///           column, and that axis is left out of y. k == 0 gives zeros.
/// DTypes    f32, f64.
/// Gradient  da = dy bᵀ, db = aᵀ dy, summed over broadcast axes.        Order   any.
/// Saves     a, b.
/// Edge      transposed and row- or column-sliced operands are passed to BLAS without a copy.
/// Throws    ShapeError (inner sizes, leading axes, an operand without axes), DTypeError.
Tensor matmul(const Tensor& a, const Tensor& b);

/// beta · c + alpha · a b.
/// Shapes    a [m, k], b [k, n], c expands to [m, n] → y [m, n].        DTypes  f32, f64.
/// Gradient  dc = beta dy, da = alpha dy bᵀ, db = alpha aᵀ dy.          Order   any.
/// Saves     a, b.
/// Edge      BLAS's rule: with beta = 0 c is not read, with alpha = 0 a and b are not, whatever they hold;
///           their gradients are 0.
/// Throws    ShapeError, DTypeError.
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);

}  // namespace heed
