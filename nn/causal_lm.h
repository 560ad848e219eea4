#pragma once

#include <vector>

#include <heed/nn/embedding.h>
#include <heed/nn/transformer_block.h>

namespace heed::nn {

struct CausalLMOptions {
  std::int64_t vocab_size = 0;
  std::int64_t context = 0;  // the longest sequence
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t embed_dim = 0;
  double dropout = 0;
  bool bias = true;
};

/// A GPT: pre-norm transformer blocks over learned token and position vectors; the head that scores the next
/// token is tied to the token vectors.
///   x_0 = token[t] + position[0..T),  x_{l+1} = block_l(x_l), causal,  logits = norm(x_L) tokenᵀ.
/// Shapes    tokens i64 or i32 [T] or [B, T], T <= context → logits [.., T, vocab_size].
/// Start     matrices from N(0, 0.02²), those that end a residual branch from N(0, 0.02² / (2 num_layers));
///           gains 1, biases 0.
/// Throws    ValueError (sizes below 1, dropout), ShapeError (T beyond the context), IndexError (a token
///           outside the vocabulary).
class CausalLM final : public Module {
 public:
  CausalLM(const CausalLMOptions& options, Generator& generator);
  CausalLM clone() const;
  const CausalLMOptions& options() const { return options_; }

  /// Logits. The generator is for dropout, in training mode.
  Tensor operator()(const Tensor& tokens, Generator* generator = nullptr) const;
  /// Mean cross-entropy of the logits with targets of the shape of tokens.
  Tensor loss(const Tensor& tokens, const Tensor& targets, Generator* generator = nullptr) const;
  /// The attention weights of every block, [.., H, T, T] each.
  std::vector<Tensor> attention_weights(const Tensor& tokens) const;

  Embedding token;
  Embedding position;
  Dropout dropout;
  std::vector<TransformerBlock> blocks;
  LayerNorm norm;

 protected:
  void visit(MemberVisitor& visitor) override;

 private:
  void initialise(Generator& generator);
  Tensor embed(const Tensor& tokens, Generator* generator) const;

  CausalLMOptions options_;
};

}  // namespace heed::nn
