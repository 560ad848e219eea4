#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <heed/nn/causal_lm.h>
#include <heed/nn/module.h>

namespace heed::train::report {

/// The length of the gradient of each part of a model, in the order of the parameters. A part is what a path begins with, up
/// to its first number: `blocks.0.mlp.up.weight` belongs to `blocks.0`, `token.weight` to `token`. The gradients stay as they
/// are.
std::vector<std::pair<std::string, double>> gradient_norms(const nn::NamedTensors& parameters);

/// How attention is spread, by layer and head: entry layer · heads + head. With P the weights of a head and P' what they would
/// be had q·k not been scaled by s (1/√D unless the options say otherwise), P' = softmax(log P / s):
///   entropy     −Σ_j P log P in nats, mean over the rows,
///   saturation  share of the rows with a weight above 0.99,
/// and the same of P'. The first row of each document, which can look at one token alone, is left out.
struct HeadStatistics {
  std::vector<double> entropy = {};
  std::vector<double> saturation = {};
  std::vector<double> undivided_entropy = {};
  std::vector<double> undivided_saturation = {};
};

/// The statistics of a model over tokens i64 [T] or [B, T], without a tape; `documents`, of the same shape, as the model takes
/// them, or none where each row is one. The model must be in evaluation mode where it has dropout. All are 0 where every document
/// is a single token.
/// Throws    ValueError (T below 2), and as the model.
HeadStatistics measure_heads(const nn::CausalLM& model, const Tensor& tokens, const Tensor& documents = {});

/// The entropy that heads would have that look at all open tokens alike: mean of ln i over i = 2 … T.
double even_entropy(std::int64_t tokens);
/// The same for rows of documents i64 [T] or [B, T]: i counts within the document.
double even_entropy(const Tensor& documents);

}  // namespace heed::train::report
