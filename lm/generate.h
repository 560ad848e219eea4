#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <heed/core/random.h>
#include <heed/lm/sampling.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// Called with each new token of a sample. Returning false ends that sample after this token.
using OnToken = std::function<bool(std::size_t sample, std::int64_t token)>;

/// Continues each prompt by up to `count` tokens and returns the new ones. Keys and values of earlier
/// tokens are cached. When the context is full, it slides: the model is given the last `context` tokens, at
/// positions counted from the first of them, and the cache is filled anew. Sample b draws from a random
/// stream of its own (seeded by bits b of one draw of the generator), so its text depends on the generator,
/// b and its prompt, not on the other samples. The repetition penalty covers all tokens of the prompt and
/// of the new text. The model must be in evaluation mode.
/// Throws    ValueError (no prompt, an empty prompt, a negative count, a model in training mode, and as
///           sample_token), IndexError (a token outside the vocabulary).
std::vector<std::vector<std::int64_t>> generate_batch(const nn::CausalLM& model,
                                                      const std::vector<std::vector<std::int64_t>>& prompts,
                                                      std::int64_t count, const SamplingOptions& options,
                                                      Generator& generator,
                                                      const OnToken& on_token = nullptr);

/// generate_batch of one prompt.
std::vector<std::int64_t> generate(const nn::CausalLM& model, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options, Generator& generator,
                                   const OnToken& on_token = nullptr);

}  // namespace heed::lm
