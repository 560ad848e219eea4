#pragma once

#include <heed/ops/attention/form/heads.h>

namespace heed::detail {

/// What a forward pass over blocks computes.
struct BlockedForward {
  Tensor output;   ///< [.., Hq, Tq, Dv]
  Tensor weights;  ///< P [.., Hq, Tq, Tk]; undefined unless asked for
  // Of each query, [.., Hq, Tq]:
  Tensor max, sum;  ///< largest logit and Σ exp(logit − max), sink included; −inf and 0 on dead rows
  Tensor moment;    ///< Σ exp(logit − max) (logit − max); undefined unless statistics are asked for
  Tensor largest_logit;  ///< without the sink; undefined unless statistics are asked for
};

/// Attention with a running softmax, one block of queries at a time. Threads share out the blocks.
BlockedForward blocked_forward(const AttentionHeads& heads, bool need_weights, bool need_statistics);

}  // namespace heed::detail
