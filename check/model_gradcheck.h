#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/nn/causal_lm.h>

namespace heed::check {

struct ModelGradcheckOptions {
  std::int64_t elements = 20;   // checked in each parameter, chosen at random
  std::int64_t directions = 5;  // random directions over all parameters together
  std::int64_t batch = 1;
  std::int64_t context = 8;  // tokens in each sequence; at most the model's own context
  std::uint64_t seed = 1;
};

struct ModelGradcheckResult {
  bool passed = true;
  std::int64_t elements = 0;    // compared
  std::int64_t directions = 0;  // compared
  double worst = 0;             // largest error over its bound; above 1 fails
  /// One sentence, or the failing elements with the names of their parameters.
  std::string report;
};

/// Compares the gradient of a model's loss on random tokens with central differences in f64: single
/// elements of every parameter, and derivatives along random directions. An element passes if
///   |analytic − numeric| <= 1e-7 · max(|analytic|, |numeric|, largest gradient of the model).
/// The model itself is not changed.
ModelGradcheckResult gradcheck_model(const nn::CausalLM& model, const ModelGradcheckOptions& options = {});

}  // namespace heed::check
