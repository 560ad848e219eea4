#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>

namespace heed::train {

struct SamplingOptions {
  /// Logits are divided by it. 0 is greedy: the largest logit, the first of equals.
  double temperature = 1;
  /// Draw among the k largest logits, the first of equals; 0 means all.
  std::int64_t top_k = 0;
};

/// Draws a token from softmax(logits / temperature), restricted to the top k. A token of probability zero is
/// never drawn. Uses one draw of the generator, greedy or not.
/// Throws    ValueError (temperature negative or NaN, top_k negative, a NaN among the logits, no logit above
///           −inf, no logits), ShapeError (logits not [vocabulary]).
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, Generator& generator);

/// Continues a prompt by `count` tokens and returns the new ones. When the context is full the window slides:
/// the model sees the last `context` tokens, at positions counted from the window's start. `on_token` is
/// called with each new token. The model's mode is its caller's business; use eval().
/// Throws    ValueError (empty prompt, negative count, and as sample_token), IndexError (a token outside the
///           vocabulary).
std::vector<std::int64_t> generate(const nn::CausalLM& model, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options, Generator& generator,
                                   const std::function<void(std::int64_t)>& on_token = nullptr);

}  // namespace heed::train
