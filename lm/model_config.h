#pragma once

#include <string>
#include <string_view>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The options of a model as a JSON object. Options that have no effect are left out: sizes that are 0, and
/// RoPE where positions are learned.
std::string model_config_to_json(const nn::CausalLMOptions& options);

/// Reads the options that model_config_to_json wrote. Missing options keep their defaults.
/// Throws    ValueError naming every key that is unknown, every key of the wrong kind, and every size
///           that is missing.
nn::CausalLMOptions model_config_from_json(std::string_view json);

/// The differences between two such objects, with both values, such as `norm_epsilon was 1e-05 and is
/// 1e-06, rope.layout was "half" and is "interleaved"`; empty if they describe the same model. Dropout is
/// not compared, since no weight depends on it.
/// Throws    ValueError when one of them is no JSON object.
std::string model_config_differences(std::string_view was, std::string_view is);

/// The names of options in files: `gelu_tanh`, `rms`, `half` and so on.
std::string_view name_of(nn::Activation activation);
std::string_view name_of(nn::NormKind norm);
std::string_view name_of(RopeLayout layout);

}  // namespace heed::lm
