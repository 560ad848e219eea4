#pragma once

#include <cstdint>
#include <limits>

#include <heed/core/tensor.h>

namespace heed::detail {

/// The logit of a closed pair.
inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// The three steps of attention, over open pairs alone. A closed pair adds nothing to a result or a gradient,
// even where its query, key or value is NaN; a plain product would add 0 · NaN. So a query that is open to no
// NaN has the same bits as if there were none.
//
// `open` is boolean, true = open, and expands to [.., Tq, Tk]. Undefined: all pairs are open. Derivatives
// of any order.

/// Q Kᵀ, 0 on closed pairs:  Q [.., Tq, D], K [.., Tk, D] → [.., Tq, Tk].
Tensor open_scores(const Tensor& q, const Tensor& k, const Tensor& open);

/// scores [.., Tq, Tk] → weights of the same shape: the softmax of each query over its open keys, 0 on closed
/// pairs and for a query without an open key.
Tensor open_softmax(const Tensor& scores, const Tensor& open);

/// W V, closed pairs left out whatever W holds there:  W [.., Tq, Tk], V [.., Tk, Dv] → [.., Tq, Dv].
Tensor open_sum(const Tensor& w, const Tensor& v, const Tensor& open);

/// 1/√size; 1 at size 0, where every q·k is the empty sum.
double default_scale(std::int64_t size);

}  // namespace heed::detail
