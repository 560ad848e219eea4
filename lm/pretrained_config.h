#pragma once

#include <string>
#include <string_view>

#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The content of a config.json.
struct PretrainedConfig {
  WeightFormat format = WeightFormat::gpt2;
  nn::CausalLMOptions options;
};

/// Reads the config.json of a Hugging Face GPT-2 or Llama, which its model_type tells apart, or nanoGPT's
/// model arguments, which have a block_size. Of GPT-2's three dropouts, resid_pdrop is used. Fields that
/// change no output are ignored.
/// Throws    ValueError that lists every field that is missing, is of the wrong kind, or asks for what
///           CausalLM does not have.
PretrainedConfig pretrained_config_from_json(std::string_view json);

/// The config.json of such a model. Biases that GPT-2 has and the model does not have are zeros in
/// the weight files.
/// Throws    ValueError that lists all options that the format cannot express.
std::string pretrained_config_to_json(const nn::CausalLMOptions& options, WeightFormat format);

}  // namespace heed::lm
