#include <string_view>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/nn/torch_attention.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

namespace heed::nn {
namespace {

constexpr std::string_view torch_name = "torch_attention";

AttentionMask ignored_or_added(std::string_view argument, const Tensor& mask) {
  check_dtype(torch_name, argument, mask, {DType::boolean, DType::f32, DType::f64});
  return mask.dtype() == DType::boolean ? AttentionMask::ignore(mask) : AttentionMask::bias(mask);
}

// [B·H, Tq, Tk] → [B, H, Tq, Tk]
Tensor by_sample(const Tensor& mask, std::int64_t heads) {
  if (mask.size(0) % heads != 0) {
    fail<ShapeError>(torch_name, "attn_mask fits no batch", describe(mask),
                     fmt::format("a multiple of num_heads, {}, as the first size", heads));
  }
  return reshape(mask, {mask.size(0) / heads, heads, mask.size(1), mask.size(2)});
}

}  // namespace

AttentionMask torch_mask(const Tensor& attn_mask, const Tensor& key_padding_mask, std::int64_t num_heads,
                         bool batched) {
  AttentionMask mask;
  if (attn_mask.defined()) {
    check_rank(torch_name, "attn_mask", attn_mask, 2, 3);
    const bool per_head = attn_mask.rank() == 3 && batched;
    // Two axes are queries and keys, even where there are as many samples.
    const Tensor pairs = attn_mask.rank() == 2 ? unsqueeze(attn_mask, 0) : attn_mask;
    mask = ignored_or_added("attn_mask", per_head ? by_sample(pairs, num_heads) : pairs);
  }
  if (key_padding_mask.defined()) {
    check_rank(torch_name, "key_padding_mask", key_padding_mask, batched ? 2 : 1, batched ? 2 : 1);
    const std::int64_t keys = key_padding_mask.size(-1);
    const Shape shape = batched ? Shape{key_padding_mask.size(0), 1, 1, keys} : Shape{1, 1, keys};
    mask = mask & ignored_or_added("key_padding_mask", reshape(key_padding_mask, shape));
  }
  return mask;
}

AttentionWeights torch_attention(const MultiHeadAttention& module, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const TorchAttentionCall& call) {
  check_rank(torch_name, "query", query, 2, 3);
  check_rank(torch_name, "key", key, query.rank(), query.rank());
  check_rank(torch_name, "value", value, query.rank(), query.rank());
  const bool batched = query.rank() == 3;
  const bool swap = batched && !call.batch_first;
  const auto batch_first = [&](const Tensor& x) { return swap ? transpose(x, 0, 1) : x; };
  AttentionMask mask = torch_mask(call.attn_mask, call.key_padding_mask, module.options().num_heads, batched);
  if (call.is_causal) mask = mask & AttentionMask::causal().query_start(0);
  const Tensor q = batch_first(query);
  // One tensor stays one tensor, so that it takes one product.
  const Tensor k = key.impl() == query.impl() ? q : batch_first(key);
  const Tensor v = value.impl() == key.impl() ? k : batch_first(value);
  if (!call.need_weights) return {batch_first(module(q, k, v, mask, call.generator)), {}};
  const AttentionWeights result = module.with_weights(q, k, v, mask, call.generator);
  return {batch_first(result.output),
          call.average_attn_weights ? mean(result.weights, {-3}) : result.weights};
}

}  // namespace heed::nn
