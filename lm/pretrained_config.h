#pragma once

#include <string>
#include <string_view>

#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// What a config.json says.
struct PretrainedConfig {
  WeightFormat format = WeightFormat::gpt2;
  nn::CausalLMOptions options;
};

/// Reads the config.json of a Hugging Face GPT-2 or Llama, by its model_type, or nanoGPT's model arguments, by their block_size.
/// Of GPT-2's three dropouts resid_pdrop is taken. Fields that change no output are passed over.
/// Throws    ValueError that lists every field that is missing, of the wrong kind, or asks for what CausalLM has not.
PretrainedConfig pretrained_config_from_json(std::string_view json);

/// The config.json of such a model. Biases that GPT-2 has and the model has not are zeros in the file.
/// Throws    ValueError that lists all that the format cannot say.
std::string pretrained_config_to_json(const nn::CausalLMOptions& options, WeightFormat format);

}  // namespace heed::lm
