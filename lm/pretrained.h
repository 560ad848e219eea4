#pragma once

#include <cstdint>
#include <string>

#include <heed/lm/weight_layout.h>
#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// Builds the model of a folder that Hugging Face's GPT2LMHeadModel or LlamaForCausalLM saved (config.json, and model.safetensors
/// or its parts with their index), or of nanoGPT's names beside its model arguments as config.json. In evaluation mode. F16
/// and BF16 become f32; GPT-2's names may lack their `transformer.`.
/// Throws    IoError naming the file or folder: it lists every field of the configuration that CausalLM has no
///           counterpart of, or every tensor that is missing, not in the model, or of another shape or dtype, with both shapes.
///           Nothing is allocated for a model before all tensors fit.
nn::CausalLM load_pretrained(const std::string& folder);

struct SavePretrainedOptions {
  WeightFormat format = WeightFormat::gpt2;
  std::uint64_t shard_bytes = 0;  // the most in one file; 0: all in one
};

/// Writes a folder that load_pretrained reads, and Hugging Face's from_pretrained: the weights, then config.json. What load_pretrained
/// read as F32 is written with the same bytes. Biases that GPT-2 has and the model has not are zeros.
/// Throws    ValueError that lists all that the format cannot say, before anything is written (also: parameters that
///           are not f32, the folder has a config.json already), IoError.
void save_pretrained(const std::string& folder, const nn::CausalLM& model,
                     const SavePretrainedOptions& options);

}  // namespace heed::lm
