#pragma once

#include <heed/ops/attention/attention.h>

namespace heed::detail {

/// For each query [.., Hq, Tq]: the largest logit of its open keys; the maximum and Σ exp(logit − max), both
/// with the sink.
struct RowNumbers {
  Tensor largest_logit, max, sum;
};

/// Fills in the statistics that follow from `rows` and from the entropy, which `result` must hold already.
void add_statistics(AttentionResult& result, const RowNumbers& rows, const Tensor& sink);

}  // namespace heed::detail
