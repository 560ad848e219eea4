#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/nn/causal_lm.h>
#include <heed/text/induction_source.h>
#include <heed/text/tokenizer.h>

namespace heed::train::report {

/// Entry h is the mean over `places` of Σ_{s in sources} weights[h, query, s]: how much of its attention
/// head h pays to the positions that hold the answer. weights [H, T, T].
/// Throws    ShapeError, DTypeError; ValueError (no places).
std::vector<double> attention_on(const Tensor& weights, std::span<const text::CopyPlace> places);

/// attention_on of every head, [layer][head], over fresh documents as long as the model's context. A head
/// near 1 is an induction head: it attends to the position after the last occurrence of the current token.
/// The tokenizer must have one token for each character or byte.
std::vector<std::vector<double>> induction_scores(nn::CausalLM& model, const text::Tokenizer& tokenizer,
                                                  const text::InductionSource& source,
                                                  std::int64_t documents = 16, std::uint64_t seed = 0);

}  // namespace heed::train::report
