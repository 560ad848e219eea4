#pragma once

#include <cstdint>
#include <string>

#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// Builds the model of a folder that Hugging Face's GPT2LMHeadModel or LlamaForCausalLM saved: config.json,
/// and model.safetensors or its parts with their index. nanoGPT's weights are read as well, with nanoGPT's
/// model arguments as config.json. The model is in evaluation mode. F16 and BF16 become f32. The names of a
/// GPT-2 may lack their prefix `transformer.`.
/// Throws    IoError naming the file or folder. It lists every field of the configuration that has no
///           counterpart in CausalLM, or every tensor that is missing, is not in the model, or has another
///           shape or dtype, with both shapes. No memory is allocated for the model before all tensors fit.
nn::CausalLM load_pretrained(const std::string& folder);

struct SavePretrainedOptions {
  WeightFormat format = WeightFormat::gpt2;
  std::uint64_t shard_bytes = 0;  // largest size of one file; 0: all in one file
};

/// Writes a folder that load_pretrained and Hugging Face's from_pretrained can read: first the weights,
/// then config.json. Weights that load_pretrained read as F32 are written with the same bytes. Biases that
/// GPT-2 has and the model does not have are written as zeros.
/// Throws    ValueError, before anything is written: it lists all options that the format cannot express;
///           or parameters are not f32; or the folder already has a config.json. IoError.
void save_pretrained(const std::string& folder, const nn::CausalLM& model,
                     const SavePretrainedOptions& options);

}  // namespace heed::lm
