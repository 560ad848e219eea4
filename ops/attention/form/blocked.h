#pragma once

#include <heed/ops/attention/attention.h>

namespace heed::detail {

/// Whether the blocked form covers these operands and options.
bool attention_blocks_cover(const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options);

/// Attention as one recorded operation that never holds [.., Hq, Tq, Tk] in memory, unless that is asked for:
/// block by block, with a running softmax. q, k and v have equal leading axes, [.., H, T, D].
AttentionResult attention_blocked(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const AttentionOptions& options);

}  // namespace heed::detail
