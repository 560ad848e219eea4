#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/attention/mask/attention_mask.h>

namespace heed::nn {

/// What torch.nn.MultiheadAttention takes besides query, key and value, under the same names.
struct TorchAttentionCall {
  /// [B, Tk], or [Tk] without a batch: boolean, true = the key is ignored; or floating, added to the logits.
  Tensor key_padding_mask = {};
  /// [Tq, Tk] or [B·H, Tq, Tk] ([H, Tq, Tk] without a batch): boolean, true = may not attend; or floating,
  /// added to the logits.
  Tensor attn_mask = {};
  /// Key position <= query position, both counted from 0.
  bool is_causal = false;
  bool need_weights = true;
  bool average_attn_weights = true;
  bool batch_first = false;
  Generator* generator = nullptr;
};

/// PyTorch's two masks as one AttentionMask; either may be undefined.
/// Throws    ShapeError (a rank or a first size that fits no batch), DTypeError (neither
///           boolean nor floating).
AttentionMask torch_mask(const Tensor& attn_mask, const Tensor& key_padding_mask, std::int64_t num_heads,
                         bool batched = true);

/// The forward of torch.nn.MultiheadAttention on a module of heed. Weights of PyTorch load into a module that
/// was made with `.names = ParameterNames::torch`, and then the numbers are the same.
/// Shapes    query [Tq, B, E], key [Tk, B, kdim], value [Tk, B, vdim] → output [Tq, B, E]; with batch_first
///           the batch comes first; without a batch [T, width]. Weights [B, Tq, Tk + X] averaged over heads,
///           or [B, H, Tq, Tk + X]; undefined unless asked for.
/// Differs   a query without an open key gives the output bias, where PyTorch gives NaN; weights are
///           those before dropout.
/// Throws    what torch_mask and the module throw.
AttentionWeights torch_attention(const MultiHeadAttention& module, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const TorchAttentionCall& call = {});

}  // namespace heed::nn
