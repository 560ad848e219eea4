#pragma once

#include <heed/ops/attention/attention.h>

namespace heed::detail {

/// Attention composed of recorded operations: every option, derivatives of any order, [.., Hq, Tq, Tk] in
/// memory. The reference of the blocked form. q, k and v have equal leading axes, [.., H, T, D].
AttentionResult attention_composite(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options);

}  // namespace heed::detail
