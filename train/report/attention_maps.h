#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/nn/causal_lm.h>
#include <heed/text/tokenizer.h>

namespace heed::train::report {

/// Where every head of a model looks, over the tokens of one text.
struct AttentionMaps {
  std::vector<std::string> tokens = {};  // as they are shown: visible_token
  std::int64_t layers = 0;
  std::int64_t heads = 0;                     // of each layer
  std::vector<std::vector<float>> maps = {};  // entry layer · heads + head: [T, T] row-major, query by key
};

/// Runs the model, which must be in evaluation mode where it has dropout, without a tape.
/// Throws    as the model and the tokenizer; ValueError without tokens.
AttentionMaps attention_maps(const nn::CausalLM& model, const text::Tokenizer& tokenizer,
                             std::span<const std::int64_t> tokens);

/// One map as lines of text: a token, then a character for each token it may look at, ' ' ░ ▒ ▓ █ from below 0.05 over 0.2,
/// 0.4 and 0.6 upwards; '!' for a weight that is not finite.
std::string draw_map(const AttentionMaps& maps, std::int64_t layer, std::int64_t head);

}  // namespace heed::train::report
