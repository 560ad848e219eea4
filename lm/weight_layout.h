#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// Whose names and layouts the tensors of a file have: heed's own, those of Hugging Face's GPT2LMHeadModel
/// and LlamaForCausalLM, nanoGPT's.
enum class WeightFormat { heed, gpt2, llama, nanogpt };

/// One tensor of a file, and the part of a parameter that it is.
struct WeightSlot {
  std::string name;            // in the file
  Shape shape;                 // there
  std::string parameter;       // its path in CausalLM
  std::int64_t first_row = 0;  // where in the parameter's first axis it begins
  bool transposed = false;     // GPT-2's Conv1D holds [in, out]
  bool repeated = false;       // a second name of a tied weight: may be left out, and must say the same
};

/// Paths and shapes of the parameters of a CausalLM, in its order: what a model says that has no
/// memory for them.
/// Throws    ValueError (a size below 1 or above 2^30, num_layers above `most_layers`, what CausalLM says
///           of its options).
std::vector<std::pair<std::string, Shape>> parameter_shapes(const nn::CausalLMOptions& options,
                                                            std::int64_t most_layers = std::int64_t{1} << 20);

/// The tensors of a file that holds such a model. Biases that GPT-2 has and the model has not are
/// among them, zeros.
/// Throws    as parameter_shapes.
std::vector<WeightSlot> weight_slots(const nn::CausalLMOptions& options, WeightFormat format,
                                     std::int64_t most_layers = std::int64_t{1} << 20);

/// Whether a file may hold a tensor of this name besides the weights: masks and angles that
/// old programs saved.
bool is_saved_buffer(const std::string& name, WeightFormat format);

}  // namespace heed::lm
