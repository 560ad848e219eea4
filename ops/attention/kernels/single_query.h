#pragma once

#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Forward of one query alone, as in decoding. Keys lie along the lanes, since one query cannot fill
/// them. Scratch: 2 · keys elements. False if a result is not finite; what was written then means nothing.
template <class T>
bool attention_query(const AttentionHead<T>& head, std::int64_t query, T* output,
                     const AttentionRows<T>& rows, T* scratch);

}  // namespace heed::kernels
