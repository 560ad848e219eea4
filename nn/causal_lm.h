#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  bool bias = true;                      // of linear layers and of NormKind::layer
  std::int64_t num_kv_heads = 0;         // heads of keys and values, a divisor of num_heads; 0: num_heads
  std::int64_t head_dim = 0;             // 0: embed_dim / num_heads
  std::int64_t hidden_dim = 0;           // of the MLP; 0: four times embed_dim
  std::optional<RopeOptions> rope = {};  // in place of learned positions
  Activation activation = Activation::gelu;
  bool gated = false;  // whether the MLP is
  NormKind norm = NormKind::layer;
  double norm_epsilon = 1e-5;
  bool tied = true;  // the head uses the weight of the token embedding
};

/// The options of every block.
TransformerBlockOptions block_options(const CausalLMOptions& options);
/// The options with every size that was left 0 filled in, RoPE's included.
/// Throws    ValueError (what CausalLM says of its options).
CausalLMOptions resolved(CausalLMOptions options);

/// A language model of pre-norm transformer blocks. With the default options it is a GPT with learned
/// positions; with RoPE, NormKind::rms, a gated MLP with silu and no bias it is a Llama.
///   x_0 = token[t] (+ position[0..T) without RoPE),  x_{l+1} = block_l(x_l), causal,
///   logits = norm(x_L) headᵀ.
/// Shapes    tokens i64 or i32 [T] or [B, T], T <= context → logits [.., T, vocab_size].
/// Start     matrices from N(0, 0.02²), those that end a residual branch from N(0, 0.02² / (2 num_layers));
///           gains 1, biases 0.
/// Throws    ValueError (sizes below 1, dropout), ShapeError (T beyond the context), IndexError (a token
///           outside the vocabulary).
class CausalLM final : public Module {
 public:
  CausalLM(const CausalLMOptions& options, Generator& generator);
  /// As given: sizes that were left 0 stay so.
  const CausalLMOptions& options() const { return options_; }

  /// Logits. The generator is for dropout, in training mode.
  Tensor operator()(const Tensor& tokens, Generator* generator = nullptr) const;
  /// Logits of rows that hold several documents: documents i64, of the shape of tokens, says which one a
  /// token belongs to; the tokens of a document follow one another. A token sees its own document alone, and
  /// positions start at 0 in each, so a document gets the logits that it has alone, to rounding.
  Tensor operator()(const Tensor& tokens, const Tensor& documents, Generator* generator = nullptr) const;
  /// Mean cross-entropy of the logits with targets of the shape of tokens; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets, Generator* generator = nullptr) const;
  Tensor loss(const Tensor& tokens, const Tensor& targets, const Tensor& documents,
              Generator* generator = nullptr) const;
  /// The attention weights of every block, [.., H, T, T] each; documents as above, or none.
  std::vector<Tensor> attention_weights(const Tensor& tokens, const Tensor& documents = {}) const;

  /// Empty caches for `batch` sequences, one per block, with room for the context.
  std::vector<KVCache> make_caches(std::int64_t batch) const;
  /// Logits of the next tokens of cached sequences, which then belong to the cache: what operator() gives for
  /// them, bit for bit unless BLAS multiplies. tokens [B, T] → logits [B, T, vocab_size]. With counts only
  /// the first counts[b] tokens of sample b are taken; later rows mean nothing. In eval(), under NoGrad.
  /// Throws    what MultiHeadAttention::decode throws: a sequence beyond the context finds its cache full.
  ///           To slide the window, reset the caches and decode the tokens that stay. A failed call leaves
  ///           the caches as they were.
  Tensor decode(const Tensor& tokens, std::vector<KVCache>& caches,
                std::span<const std::int64_t> counts = {}) const;

  Embedding token;
  std::optional<Embedding> position;  // none with RoPE
  Dropout dropout;
  std::vector<TransformerBlock> blocks;
  Norm norm;
  std::optional<Linear> head;  // none if tied

 protected:
  HEED_MEMBERS(token, position, dropout, blocks, norm, head)

 private:
  void initialise(Generator& generator);
  void check_documents(const Tensor& tokens, const Tensor& documents) const;
  Tensor embed(const Tensor& tokens, const Tensor& documents, Generator* generator) const;
  Tensor logits(const Tensor& tokens, const Tensor& documents, Generator* generator) const;
  Tensor mean_loss(const Tensor& scores, const Tensor& targets) const;
  Tensor score(const Tensor& x) const;

  CausalLMOptions options_;
};

}  // namespace heed::nn
