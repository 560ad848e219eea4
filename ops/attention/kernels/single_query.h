#pragma once

#include <heed/ops/attention/kernels/head.h>

namespace heed::kernels {

/// Elements of scratch memory that `attention_query` needs.
std::int64_t attention_query_scratch(std::int64_t keys, std::int64_t size, std::int64_t value_size);

/// Forward of a head that has one query, as in decoding. Keys lie along the lanes, since one query cannot
/// fill them; the bits are those of `attention_forward`. False if a logit or a result is not finite; what was
/// written then means nothing.
template <class T>
bool attention_query(const AttentionHead<T>& head, Rows<T> output, const AttentionRows<T>& rows, T* scratch);

}  // namespace heed::kernels
