#pragma once

#include <heed/ops/attention/form/heads.h>

namespace heed::detail {

/// What forward saves for backward besides the operands.
struct BlockedSaved {
  Tensor output;    ///< [.., Hq, Tq, Dv]
  Tensor max, sum;  ///< of each query [.., Hq, Tq]
};
struct BlockedCotangents {
  Tensor output;  ///< [.., Hq, Tq, Dv]
  Tensor lse;     ///< [.., Hq, Tq]; may be undefined
};
/// Which gradients are asked for.
struct BlockedNeeds {
  bool q = false, k = false, v = false, logits = false, sink = false;
};
struct BlockedGradients {
  Tensor q, k, v;
  Tensor logits;  ///< [.., Hq, Tq, Tk], after softcap: zero on closed pairs
  Tensor sink;    ///< [Hq]
};

/// The gradients of attention, one block of queries at a time; the weights are computed again. Key heads are
/// shared out among the threads. Where there are fewer than four, so are the blocks of queries of each.
BlockedGradients blocked_backward(const AttentionHeads& heads, const BlockedSaved& saved,
                                  const BlockedCotangents& cotangents, const BlockedNeeds& needs);

}  // namespace heed::detail
