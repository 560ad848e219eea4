#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/nn/activation.h>
#include <heed/nn/dropout.h>
#include <heed/nn/linear.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/norm.h>

namespace heed::nn {

/// Names and defaults are PyTorch's.
struct TransformerLayerOptions {
  std::int64_t d_model = 0;
  std::int64_t nhead = 0;
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;  // of attention weights, of the activation and of every branch, in training mode
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;
  bool bias = true;
};

/// torch.nn.TransformerEncoderLayer: its parameters, names and numbers; the batch comes first.
///   norm_first: z = x + self_attn(norm1(x)),  y = z + ff(norm2(z));  otherwise z = norm1(x + self_attn(x)),
///   y = norm2(z + ff(z));  ff(z) = linear2(activation(linear1(z))).
/// Shapes    src [.., T, d_model] → y, same shape. Mask as MultiHeadAttention reads it; `torch_mask` makes
///           one of PyTorch's masks.
/// Throws    what its parts throw.
class TransformerEncoderLayer final : public Module {
 public:
  TransformerEncoderLayer(const TransformerLayerOptions& options, Generator& generator);
  const TransformerLayerOptions& options() const { return options_; }

  Tensor operator()(const Tensor& src, const AttentionMask& mask = {}, Generator* generator = nullptr) const;

  MultiHeadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout;

 protected:
  HEED_MEMBERS(self_attn, linear1, linear2, norm1, norm2, dropout)

 private:
  TransformerLayerOptions options_;
};

/// torch.nn.TransformerDecoderLayer: its parameters, names and numbers; the batch comes first.
///   norm_first: u = x + self_attn(norm1(x)),  z = u + multihead_attn(norm2(u), memory),
///   y = z + ff(norm3(z));
///   otherwise each norm follows its sum.
/// Shapes    tgt [.., T, d_model], memory [.., S, d_model] → y, shape of tgt.
/// Masks     of self-attention (AttentionMask::causal() to decode), and of the keys in memory.
/// Throws    what its parts throw.
class TransformerDecoderLayer final : public Module {
 public:
  TransformerDecoderLayer(const TransformerLayerOptions& options, Generator& generator);
  const TransformerLayerOptions& options() const { return options_; }

  Tensor operator()(const Tensor& tgt, const Tensor& memory, const AttentionMask& mask = {},
                    const AttentionMask& memory_mask = {}, Generator* generator = nullptr) const;

  MultiHeadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout;

 protected:
  HEED_MEMBERS(self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3, dropout)

 private:
  TransformerLayerOptions options_;
};

}  // namespace heed::nn
