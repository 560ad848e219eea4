#pragma once

#include <heed/core/tensor.h>

namespace heed::detail {

/// Whether no element is NaN or infinite; true for an undefined tensor. `find_nonfinite` of core/nonfinite.h
/// says which element is, and takes longer.
/// Throws    DTypeError (x not floating).
bool all_finite(const Tensor& x);

}  // namespace heed::detail
