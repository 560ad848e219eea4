#pragma once

#include <heed/core/tensor.h>

namespace heed {

struct AttentionWeights {
  Tensor output;   ///< [.., Tq, Dv]
  Tensor weights;  ///< [.., Tq, Tk]
};

/// The textbook formula:  output = softmax(Q Kᵀ / √d_k) V, with a boolean mask, true = may attend.
/// Shapes    Q [.., Tq, D], K [.., Tk, D], V [.., Tk, Dv], mask broadcasts to [.., Tq, Tk] or is undefined.
/// DTypes    f32, f64.
/// Gradient  that of the operations it is written in.        Order   any.
/// Saves     Q, K, V and the T² weights; `attention` does the same without most of them.
/// Edge      a query with no open key gives output 0 and weights 0.
/// Throws    ShapeError, DTypeError.
AttentionWeights scaled_dot_product_attention(const Tensor& Q, const Tensor& K, const Tensor& V,
                                              const Tensor& mask = {});

}  // namespace heed
