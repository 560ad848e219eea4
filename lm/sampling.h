#pragma once

#include <cstdint>
#include <span>

#include <heed/core/random.h>
#include <heed/core/tensor.h>

namespace heed::lm {

struct SamplingOptions {
  /// Logits are divided by it. 0 is greedy: the largest logit, the first of equal ones.
  double temperature = 1;
  /// Draw among the k largest logits, the first of equal ones; 0 means all.
  std::int64_t top_k = 0;
  /// Draw among the most likely tokens that together reach this probability, including the one
  /// that crosses it.
  double top_p = 1;
  /// Draw among tokens at least min_p times as likely as the most likely one.
  double min_p = 0;
  /// Logits of tokens seen before are divided by it where positive, and multiplied by it where negative.
  double repetition_penalty = 1;
};

/// Throws    ValueError unless temperature ≥ 0, top_k ≥ 0, 0 ≤ top_p ≤ 1, 0 ≤ min_p ≤ 1 and 0 <
///           repetition_penalty < ∞.
void check_sampling(const SamplingOptions& options);

/// Draws a token from softmax(logits / temperature) over the tokens that the options keep. The options
/// apply in the order repetition penalty, temperature, top k, top p, min p; the largest logit always stays,
/// and a token of probability zero is never drawn. Uses one draw of the generator, greedy or not. `seen`
/// are the tokens that the repetition penalty covers.
/// Throws    ValueError (an option outside its range, a NaN among the logits, no logit above
///           −inf, no logits), ShapeError (logits not [vocab_size]), IndexError (a seen token
///           outside the vocabulary).
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, Generator& generator,
                          std::span<const std::int64_t> seen = {});

}  // namespace heed::lm
