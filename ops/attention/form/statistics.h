#pragma once

#include <heed/ops/attention/attention.h>

namespace heed::detail {

/// Of each query [.., Hq, Tq]: the largest logit of its open keys, and maximum and Σ exp(logit − maximum)
/// with the sink.
struct RowNumbers {
  Tensor largest_logit, max, sum;
};

/// Fills in the statistics that follow from these numbers and from the entropy, which `result` holds already.
void add_statistics(AttentionResult& result, const RowNumbers& rows, const Tensor& sink);

}  // namespace heed::detail
