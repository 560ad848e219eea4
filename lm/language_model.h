#pragma once

#include <memory>
#include <string>

#include <heed/nn/causal_lm.h>
#include <heed/text/tokenizer.h>

namespace heed::lm {

/// A model and the tokenizer whose ids it was trained on.
struct LanguageModel {
  nn::CausalLM model;
  std::unique_ptr<text::Tokenizer> tokenizer;
};

/// Writes `config.json` (the model's options and the tokenizer) and `model.safetensors` (its parameters)
/// into a folder, each file whole or not at all.
/// Throws    IoError.
void save_language_model(const std::string& folder, const nn::CausalLM& model,
                         const text::Tokenizer& tokenizer);

/// Reads what save_language_model wrote, or a folder as load_pretrained reads it that also holds
/// tokenizer.json, or vocab.json and merges.txt. The model is in evaluation mode. The sizes that the
/// configuration claims are compared with the tensors of the files before any memory is allocated
/// for the model.
/// Throws    IoError naming the file and what is wrong with it.
LanguageModel load_language_model(const std::string& folder);

}  // namespace heed::lm
