#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/nn/causal_lm.h>
#include <heed/nn/module.h>

namespace heed::train::report {

/// The norm of the gradient of each part of a model, in the order of the parameters. A part is named
/// by the beginning of its parameters' paths, up to their first number: `blocks.0.mlp.up.weight`
/// belongs to `blocks.0`; or else up to the first dot: `token.weight` belongs to `token`. The
/// gradients are not changed.
std::vector<std::pair<std::string, double>> gradient_norms(const nn::NamedTensors& parameters);

/// How attention is spread over the tokens, by layer and head: entry layer · heads + head. P are the
/// weights of a head, and P' those that it would have if q·k were not scaled by s (1/√D unless the options
/// say otherwise), P' = softmax(log P / s):
///   entropy     −Σ_j P log P in nats, mean over the rows,
///   saturation  share of the rows with a weight above 0.99,
/// and the same of P' as undivided_…. The first row of each document is left out, since it has only one
/// token to attend to.
struct HeadStatistics {
  std::vector<double> entropy = {};
  std::vector<double> saturation = {};
  std::vector<double> undivided_entropy = {};
  std::vector<double> undivided_saturation = {};
};

/// The statistics of a model over tokens i64 [T] or [B, T], without a tape. `documents` has the same shape
/// and meaning as for the model; undefined where each row is one document. A model with dropout must be in
/// evaluation mode. All statistics are 0 where every document is a single token.
/// Throws    ValueError (T below 2), and as the model.
HeadStatistics measure_heads(const nn::CausalLM& model, const Tensor& tokens, const Tensor& documents = {});

/// The entropy of heads that attend to all allowed tokens equally: the mean of ln i over i = 2 … T.
double even_entropy(std::int64_t tokens);
/// The same for rows of documents i64 [T] or [B, T], where i counts the tokens within the document.
double even_entropy(const Tensor& documents);

}  // namespace heed::train::report
