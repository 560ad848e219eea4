#pragma once

#include <memory>
#include <string>

#include <heed/nn/causal_lm.h>
#include <heed/text/tokenizer.h>

namespace heed::lm {

/// A model and the tokenizer whose tokens it knows.
struct LanguageModel {
  nn::CausalLM model;
  std::unique_ptr<text::Tokenizer> tokenizer;
};

/// Writes `config.json` (the model's options, the tokenizer) and `model.safetensors` (its parameters) into a
/// folder, each whole or not at all.
/// Throws    IoError.
void save_language_model(const std::string& folder, const nn::CausalLM& model,
                         const text::Tokenizer& tokenizer);

/// What save_language_model wrote, or a folder as load_pretrained reads it with its tokenizer.json, or vocab.json and merges.txt. In
/// evaluation mode. Sizes that the configuration claims are compared with the tensors before anything is
/// allocated.
/// Throws    IoError naming the file and what is wrong with it.
LanguageModel load_language_model(const std::string& folder);

}  // namespace heed::lm
