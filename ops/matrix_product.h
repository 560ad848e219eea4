#pragma once

#include <heed/core/tensor.h>

namespace heed::detail {

/// y[.., m, n] = a[.., m, k] b[.., k, n] + beta · y for equal leading axes; y row-major, not recorded.
/// Operands of any strides; what BLAS cannot take by strides is copied where BLAS multiplies.
void product_into(const Tensor& a, const Tensor& b, double beta, Tensor& y);

}  // namespace heed::detail
