#pragma once

#include <optional>
#include <string>

#include <heed/core/tensor.h>

namespace heed::conformance {

/// An element is right where |got − want| <= atol + rtol · |want|.
struct Bound {
  double rtol = 0;
  double atol = 0;
};

/// Nothing where `got` has the type named `type` (a safetensors dtype), the
/// shape of `want` and its elements within `bound`; else one line on what
/// differs: the worst element, or type or shape. Integers and booleans must be
/// equal, NaN stands only where NaN is wanted. F16 and BF16 are held as f32,
/// and `got` is rounded to them once.
std::optional<std::string> compare(const Tensor& got, const Tensor& want, const std::string& type,
                                   const Bound& bound);

/// Nothing where type and shape are as wanted, whatever the elements.
std::optional<std::string> compare_form(const Tensor& got, const Tensor& want, const std::string& type);

/// The nearest number of format F16 or BF16 (ties to even), ±infinity beyond
/// its range.
double round_to_format(double value, const std::string& format);

/// An f32 tensor of the elements rounded to F16 or BF16.
Tensor round_to_format(const Tensor& x, const std::string& format);

}  // namespace heed::conformance
