#pragma once

#include <cstdint>
#include <span>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

struct ScoreOptions {
  /// The distance in tokens from the start of a window to the start of the next, at most the context. A
  /// smaller one gives each token more context and takes longer. 0: the context.
  std::int64_t stride = 0;
  std::int64_t batch = 16;  // windows computed together
};

struct TextScore {
  double nats = 0;          // Σ −log p(token | the tokens before it in its window)
  std::int64_t tokens = 0;  // how many were predicted
};

/// How well a model predicts tokens. Every token but the first, which has nothing before it, is predicted
/// exactly once: window w begins at token w·stride, has the length of the context, and predicts what no
/// earlier window has predicted. The last windows may be shorter. The model is used in evaluation mode,
/// whatever its mode is, and without a tape.
/// Throws    ValueError (fewer than 2 tokens, stride outside 0 … context, batch below 1), IndexError (a
///           token outside the vocabulary).
TextScore score_tokens(nn::CausalLM& model, std::span<const std::int64_t> tokens,
                       const ScoreOptions& options = {});

}  // namespace heed::lm
