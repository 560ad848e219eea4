#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/tensor_function.h>

namespace heed::check {

/// A function under test: of one to three tensors, or of a vector of them. Every check first evaluates it
/// twice at one point and reports when the bits differ.
using Function = TensorFunction;

/// Copies of the inputs, where those that require grad are leaves of their own: the caller's tensors are
/// not written to and get no gradients.
/// Throws    DTypeError (an input that requires grad is not f32 or f64), GradError (none requires grad).
std::vector<Tensor> leaves_of(std::string_view op, const std::vector<Tensor>& inputs);

/// The tensors that require grad.
std::vector<Tensor> wanted_of(const std::vector<Tensor>& tensors);

/// How many elements the tensors that require grad have together.
std::int64_t wanted_elements(const std::vector<Tensor>& leaves);

/// The elements in row-major order as doubles, whatever the dtype.
std::vector<double> numbers_of(const Tensor& x);

/// The distance from 1 to the next larger number of a floating dtype.
double epsilon_of(DType dtype);

/// The largest epsilon among the floating tensors; that of f64 if there is none.
double coarsest_epsilon(const std::vector<Tensor>& tensors);

/// The position of an element, as one index for each axis, from its row-major index.
Shape position_of(const Shape& shape, std::int64_t index);

/// The first difference in bits between two evaluations of one function, in words; empty if there is none.
std::string difference_between(std::string_view name, const std::vector<Tensor>& a,
                               const std::vector<Tensor>& b);

/// The first NaN or infinity, in words; empty if there is none. Tensors whose entry in `used` is
/// false are skipped.
std::string nonfinite_in(std::string_view name, const std::vector<Tensor>& tensors,
                         const std::vector<bool>& used);

}  // namespace heed::check
