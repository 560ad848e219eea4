#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The format whose names and layouts the tensors of a file have: heed's own, that of Hugging Face's
/// GPT2LMHeadModel or LlamaForCausalLM, or nanoGPT's.
enum class WeightFormat { heed, gpt2, llama, nanogpt };

/// One tensor of a file, and the part of a parameter that it holds.
struct WeightSlot {
  std::string name;            // of the tensor in the file
  Shape shape;                 // in the file
  std::string parameter;       // path of the parameter in CausalLM
  std::int64_t first_row = 0;  // first row of the parameter that the tensor holds
  bool transposed = false;     // GPT-2's Conv1D stores weights as [in, out]
  bool repeated = false;       // a second name of a tied weight: may be absent, and must be equal
};

/// Paths and shapes of the parameters of a CausalLM, in its order. Allocates no memory for their elements.
/// Throws    ValueError (a size below 1 or above 2^30, num_layers above `most_layers`, and as CausalLM
///           for its options).
std::vector<std::pair<std::string, Shape>> parameter_shapes(const nn::CausalLMOptions& options,
                                                            std::int64_t most_layers = std::int64_t{1} << 20);

/// The tensors of a file that holds such a model. Biases that GPT-2 has and the model does not have
/// are among them.
/// Throws    as parameter_shapes.
std::vector<WeightSlot> weight_slots(const nn::CausalLMOptions& options, WeightFormat format,
                                     std::int64_t most_layers = std::int64_t{1} << 20);

/// Whether a file may hold a tensor of this name besides the weights: attention masks and RoPE frequencies
/// that old programs saved.
bool is_saved_buffer(const std::string& name, WeightFormat format);

}  // namespace heed::lm
