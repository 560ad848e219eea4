#pragma once

#include <string>
#include <string_view>

#include <heed/nn/causal_lm.h>

namespace heed::lm {

/// The options of a model as a JSON object. An option that decides nothing is left out: sizes that are 0,
/// RoPE when positions are learned.
std::string model_config_to_json(const nn::CausalLMOptions& options);

/// The options that model_config_to_json wrote; those that are missing keep their defaults.
/// Throws    ValueError that names every key that is unknown, of the wrong kind or, of the sizes, missing.
nn::CausalLMOptions model_config_from_json(std::string_view json);

/// What two such objects disagree on, with both values, such as `norm_epsilon was 1e-05 and is 1e-06,
/// rope.layout was "half" and is "interleaved"`; empty if they describe one model. Dropout, which no weight
/// depends on, is not compared.
/// Throws    ValueError when one of them is no JSON object.
std::string model_config_differences(std::string_view was, std::string_view is);

/// `gelu_tanh`, `rms`, `half` …: how options are written.
std::string_view name_of(nn::Activation activation);
std::string_view name_of(nn::NormKind norm);
std::string_view name_of(RopeLayout layout);

}  // namespace heed::lm
