#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed {

/// Einstein's sum: each letter names an axis; letters that the result lacks are summed over.
///   einsum("bik,bjk->bij", {q, k})  is  y_bij = Σ_k q_bik k_bjk.
/// A letter twice in one operand takes the diagonal. `...` stands for axes that broadcast. Without `->`
/// the result has the letters that occur once, in alphabetical order. Operands are contracted from left
/// to right by matmul.
/// Shapes    one letter for each axis; sizes of a letter equal or 1.   DTypes  f32, f64.
/// Gradient  as of the products and sums it is made of.                Order   any.
/// Saves     what the operations it is written in save.
/// Throws    ValueError (equation, number of operands), ShapeError (rank, sizes), DTypeError.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace heed
