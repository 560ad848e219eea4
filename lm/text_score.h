#pragma once

#include <cstdint>
#include <span>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

struct ScoreOptions {
  /// Tokens from the begin of a window to that of the next, up to the context: the fewer, the more a token sees before it and
  /// the longer it takes. 0: the context.
  std::int64_t stride = 0;
  std::int64_t batch = 16;  // windows at a time
};

struct TextScore {
  double nats = 0;          // Σ −log p(token | those before it in its window)
  std::int64_t tokens = 0;  // how many were predicted
};

/// How well a model predicts tokens. Every token but the first, which has nothing before it, is predicted exactly once: window w
/// begins at token w·stride and holds the context; it predicts what the windows before it have not. The last windows
/// may be shorter. In evaluation mode whatever the model's is, and without a tape.
/// Throws    ValueError (fewer than 2 tokens, stride outside 0 … context, batch below 1), IndexError (a token outside
///           the vocabulary).
TextScore score_tokens(nn::CausalLM& model, std::span<const std::int64_t> tokens,
                       const ScoreOptions& options = {});

}  // namespace heed::lm
