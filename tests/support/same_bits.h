#pragma once

#include <cstring>
#include <type_traits>

#include <heed/core/dtype.h>
#include <heed/core/tensor.h>
#include <heed/ops/contiguous.h>

namespace heed::test {

/// Whether two floating tensors have the same shape, dtype and bits; the signs of zeros and of NaN count.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  return visit_floating(x.dtype(), [&]<class T>(std::type_identity<T>) {
    return std::memcmp(x.data<T>(), y.data<T>(), static_cast<std::size_t>(x.numel()) * sizeof(T)) == 0;
  });
}

}  // namespace heed::test
