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

/// Whether x is NaN, element by element, as a boolean tensor.
/// Shapes    any.        DTypes  any; false for those that are not floating.
/// Gradient  none: the result is a constant.        Order   –.        Saves     nothing.
/// Throws    ValueError (x undefined).
Tensor isnan(const Tensor& x);
/// Whether x is +∞ or −∞. Shapes, DTypes, Gradient, Order, Saves, Throws: as isnan.
Tensor isinf(const Tensor& x);
/// Whether x is neither NaN nor infinite. Shapes, Gradient, Order, Saves, Throws: as isnan.
/// DTypes    any; true for those that are not floating.
Tensor isfinite(const Tensor& x);

/// How near `isclose` and `allclose` want a to be to b.
struct Closeness {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;  ///< whether NaN is close to NaN
};

/// Whether |a − b| <= atol + rtol |b|, element by element, as a boolean tensor; computed in double.
/// Shapes    broadcast.        DTypes  any, both the same.
/// Gradient  none: the result is a constant.        Order   –.        Saves     nothing.
/// Edge      an infinity is close to itself alone, NaN to NaN with equal_nan alone; with tolerances of 0
///           integers are compared exactly.
/// Throws    ShapeError, DTypeError, ValueError (a tolerance that is negative or NaN).
Tensor isclose(const Tensor& a, const Tensor& b, const Closeness& closeness = {});

/// Whether all elements are close.
/// Shapes, DTypes, Gradient, Order, Saves, Throws: as isclose.
/// Edge      true where there are no elements.
bool allclose(const Tensor& a, const Tensor& b, const Closeness& closeness = {});

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
