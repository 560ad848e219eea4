#pragma once

#include <functional>
#include <vector>

#include <heed/nn/multi_head_attention.h>

namespace heed::test {

/// Whether query i of sample b may attend key j, beside the window of the options.
using Open = std::function<bool(std::int64_t b, std::int64_t i, std::int64_t j)>;

/// MultiHeadAttention written out in loops over doubles, one number at a time: query [B, Tq, E], key [B, Tk,
/// kdim], value [B, Tk, vdim], all f64 → [B, Tq, E], row-major.
std::vector<double> plain_attention(const nn::MultiHeadAttention& layer, const Tensor& query,
                                    const Tensor& key, const Tensor& value, const Open& open);

}  // namespace heed::test
