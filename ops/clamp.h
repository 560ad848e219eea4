#pragma once

#include <optional>

#include <heed/core/tensor.h>

namespace heed {

/// y = min(max(x, low), high); an absent bound does not bind. With low > high, y = high. NaN stays,
/// and a bound that is NaN gives NaN everywhere.
/// Shapes    any.        DTypes  f32, f64.
/// Gradient  dx = dy where low <= x <= high, else 0 (so also beside a bound that is NaN).        Order   any.
/// Saves     x.
/// Throws    DTypeError.
Tensor clamp(const Tensor& x, std::optional<double> low, std::optional<double> high);

/// The larger, element by element; NaN wins.
/// Shapes    broadcast.        DTypes  i32, i64, f32, f64; both the same.
/// Gradient  dy to the larger; half to each where they are equal.        Order   any.
/// Saves     a, b.
/// Throws    ShapeError, DTypeError.
Tensor maximum(const Tensor& a, const Tensor& b);

/// The smaller, element by element; NaN wins.
/// Shapes    broadcast.        DTypes  i32, i64, f32, f64; both the same.
/// Gradient  dy to the smaller; half to each where they are equal.        Order   any.
/// Saves     a, b.
/// Throws    ShapeError, DTypeError.
Tensor minimum(const Tensor& a, const Tensor& b);

}  // namespace heed
