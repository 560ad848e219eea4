#pragma once

#include <heed/core/scalar.h>
#include <heed/core/tensor.h>

namespace heed {

/// a == b, element by element, as a boolean tensor.
/// Shapes    broadcast.        DTypes  any, both the same.
/// Gradient  none: the result is a constant.        Order   –.        Saves     nothing.
/// Edge      NaN is equal to nothing.
/// Throws    ShapeError, DTypeError.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Scalar b);

/// a != b. Shapes, DTypes, Gradient, Order, Saves, Throws: as eq.
Tensor ne(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, Scalar b);

/// a < b. Shapes, Gradient, Order, Saves, Throws: as eq.
/// DTypes    any but boolean, both the same.
Tensor lt(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, Scalar b);

/// a <= b. Shapes, DTypes, Gradient, Order, Saves, Throws: as lt.
Tensor le(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, Scalar b);

/// a > b. Shapes, DTypes, Gradient, Order, Saves, Throws: as lt.
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, Scalar b);

/// a >= b. Shapes, DTypes, Gradient, Order, Saves, Throws: as lt.
Tensor ge(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, Scalar b);

/// a ∧ b.
/// Shapes    broadcast.        DTypes  boolean.
/// Gradient  none: the result is a constant.        Order   –.        Saves     nothing.
/// Throws    ShapeError, DTypeError.
Tensor logical_and(const Tensor& a, const Tensor& b);
/// a ∨ b. Shapes, DTypes, Gradient, Order, Saves, Throws: as logical_and.
Tensor logical_or(const Tensor& a, const Tensor& b);
/// Exactly one of a and b. Shapes, DTypes, Gradient, Order, Saves, Throws: as logical_and.
Tensor logical_xor(const Tensor& a, const Tensor& b);
/// ¬ a. Shapes, DTypes, Gradient, Order, Saves, Throws: as logical_and.
Tensor logical_not(const Tensor& a);

}  // namespace heed
