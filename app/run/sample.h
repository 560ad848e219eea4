#pragma once

#include <cstdint>
#include <string>

#include <heed/app/run/text_data.h>
#include <heed/nn/causal_lm.h>

namespace heed::app {

inline constexpr double sample_temperature = 0.8;

/// What samples go on from: a new line where the text has lines, else the text's first token.
std::string sample_prompt(const TextData& data);

/// What the model writes after it. The same seed draws the same numbers.
std::string write_sample(heed::nn::CausalLM& model, const TextData& data, std::uint64_t seed,
                         std::int64_t tokens);

}  // namespace heed::app
