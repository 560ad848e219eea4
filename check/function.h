#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::check {

/// A function under test: tensors in, tensors out. Every check evaluates it twice at one point first, and says so
/// when the bits differ.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Copies of the inputs, those that require grad as leaves of their own, so that a caller's tensors are neither written
/// nor given gradients.  Throws  DTypeError (an input that requires grad is not f32 or f64), GradError (none does).
std::vector<Tensor> leaves_of(std::string_view op, const std::vector<Tensor>& inputs);

/// The leaves among `tensors`.
std::vector<Tensor> wanted_of(const std::vector<Tensor>& tensors);

/// Number of elements of the leaves together.
std::int64_t wanted_elements(const std::vector<Tensor>& leaves);

/// The elements in row-major order as doubles, whatever the dtype.
std::vector<double> numbers_of(const Tensor& x);

/// Distance from 1 to the next number of a floating dtype.
double epsilon_of(DType dtype);

/// The larger of the epsilons of the floating tensors among `tensors`; that of f64 if there is none.
double coarsest_epsilon(const std::vector<Tensor>& tensors);

/// Position in a row-major tensor as one index for each axis.
Shape position_of(const Shape& shape, std::int64_t index);

/// Where two evaluations of one function differ in a bit, in words; empty where they do not.
std::string difference_between(std::string_view name, const std::vector<Tensor>& a,
                               const std::vector<Tensor>& b);

/// The first NaN or infinity, in words; empty where there is none. Tensors without a place in `used` are passed over.
std::string non_finite_in(std::string_view name, const std::vector<Tensor>& tensors,
                          const std::vector<bool>& used);

}  // namespace heed::check
