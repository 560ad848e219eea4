#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <heed/core/random.h>
#include <heed/lm/sampling.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// Called with each new token of a sample; false ends that sample with this token.
using OnToken = std::function<bool(std::size_t sample, std::int64_t token)>;

/// Continues each prompt by up to `count` tokens and returns the new ones. Keys and values of tokens seen are cached; when
/// the context is full the window slides: the model sees the last `context` tokens, at positions counted from
/// the window's start, which fills the cache anew. Sample b draws from the stream (bits b of one draw of the
/// generator), so its text depends on the generator, b and its prompt, not on the other samples. The
/// repetition penalty is for all tokens of prompt and text. The model must be in evaluation mode.
/// Throws    ValueError (no prompt or an empty one, negative count, the model in training mode, and as
///           sample_token), IndexError (a token outside the vocabulary).
std::vector<std::vector<std::int64_t>> generate_batch(const nn::CausalLM& model,
                                                      const std::vector<std::vector<std::int64_t>>& prompts,
                                                      std::int64_t count, const SamplingOptions& options,
                                                      Generator& generator,
                                                      const OnToken& on_token = nullptr);

/// A batch of one prompt.
std::vector<std::int64_t> generate(const nn::CausalLM& model, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options, Generator& generator,
                                   const OnToken& on_token = nullptr);

}  // namespace heed::lm
