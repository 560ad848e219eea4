#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// Logistic function:  y = 1 / (1 + e^−x).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy e / (1 + e)², e = e^−|x|.        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor sigmoid(const Tensor& x);

/// Hyperbolic tangent:  y = tanh x.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy 4e / (1 + e)², e = e^−2|x|, which is 1 − y².        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor tanh(const Tensor& x);

/// Error function:  y = 2/√π ∫_0^x e^−t² dt.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy 2/√π e^−x².        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor erf(const Tensor& x);

/// y = max(x, 0); NaN stays.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = 0 where x <= 0, else dy.        Order   any.
/// Saves     y.
/// Throws    DTypeError.
Tensor relu(const Tensor& x);

/// y = x sigmoid(x).
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy s (1 + x (1 − s)), s = sigmoid(x).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor silu(const Tensor& x);

/// How gelu is approximated: `none`, that is exact, or by tanh as in GPT-2.
enum class Gelu { none, tanh };

/// Gaussian error linear unit:  y = x Φ(x), Φ(x) = ½ (1 + erf(x/√2));
/// with Gelu::tanh, y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))). Exact in the tails.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy (Φ(x) + x φ(x)), φ the normal density; that of the formula for Gelu::tanh.
/// Order     any.
/// Saves     x.
/// Throws    DTypeError.
Tensor gelu(const Tensor& x, Gelu approximate = Gelu::none);

}  // namespace heed
