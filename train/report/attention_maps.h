#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/nn/causal_lm.h>
#include <heed/text/tokenizer.h>

namespace heed::train::report {

/// The attention weights of every head of a model over the tokens of one text.
struct AttentionMaps {
  std::vector<std::string> tokens = {};  // as visible_token shows them
  std::int64_t layers = 0;
  std::int64_t heads = 0;                     // of each layer
  std::vector<std::vector<float>> maps = {};  // entry layer · heads + head: [T, T] row-major, query by key
};

/// Runs the model without a tape. A model with dropout must be in evaluation mode.
/// Throws    as the model and the tokenizer; ValueError (no tokens).
AttentionMaps attention_maps(const nn::CausalLM& model, const text::Tokenizer& tokenizer,
                             std::span<const std::int64_t> tokens);

/// One map as lines of text: a token, then one character for each token that it may attend to. The
/// characters ' ' ░ ▒ ▓ █ stand for weights below 0.05, 0.2, 0.4 and 0.6 and from 0.6 up; '!' for a weight
/// that is not finite.
std::string draw_map(const AttentionMaps& maps, std::int64_t layer, std::int64_t head);

}  // namespace heed::train::report
