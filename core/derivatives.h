#pragma once

#include <vector>

#include <heed/core/tensor_function.h>

namespace heed {

// Derivatives of functions, such as [](const Tensor& x) { return sin(x); }. Inputs are floating tensors, with
// or without history; they need not require grad, and their `.grad` is left alone. What a result does not
// depend on has derivative zero. vjp, jvp and hvp are recorded like operations, so they nest: their results
// have history when gradients are on and an input, cotangent or tangent has. Tensors that f captures are
// constants to them.
// Throws (all)  ValueError (no function, no inputs), DTypeError (an input that is not floating).

/// Values and products of a derivative.
struct Products {
  std::vector<Tensor> outputs;
  std::vector<Tensor> products;
};

/// Vector-Jacobian product: outputs y = f(x), products dx = Jᵀ u with J = ∂y/∂x.
/// Shapes    u as y → dx as x.          DTypes  f32, f64.
/// Throws    ShapeError, DTypeError, ValueError (cotangents unlike the outputs in shape, dtype or number).
Products vjp(const TensorFunction& function, const TensorList& inputs, const TensorList& cotangents);

/// Jacobian-vector product: outputs y = f(x), products dy = J v. It is computed as the derivative of the
/// vector-Jacobian product, which is linear in its cotangent, with respect to that cotangent. So there is no
/// second set of rules, but also no independent check of the first.
/// Shapes    v as x → dy as y.          DTypes  f32, f64.
/// Throws    ShapeError, DTypeError, ValueError (tangents unlike the inputs); GradError (an operation of f
///           whose backward has no derivative).
Products jvp(const TensorFunction& function, const TensorList& inputs, const TensorList& tangents);

/// J[i][k] = ∂y_i/∂x_k, one vector-Jacobian product per element of y. Without history.
/// Shapes    [i][k]: shape of y_i, then that of x_k.
/// Throws    ShapeError (together more than 8 axes).
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& function, const TensorList& inputs);

/// H[i][k] = ∂²y/∂x_i∂x_k of a function with one result of one element. Without history.
/// Shapes    [i][k]: shape of x_i, then that of x_k.
/// Throws    ShapeError (more than one element, together more than 8 axes), ValueError (several results).
std::vector<std::vector<Tensor>> hessian(const TensorFunction& function, const TensorList& inputs);

/// Hessian-vector product: outputs {y}, products H v, without forming H.
/// Shapes    v as x → products as x.
/// Throws    as jvp and hessian.
Products hvp(const TensorFunction& function, const TensorList& inputs, const TensorList& vectors);

}  // namespace heed
