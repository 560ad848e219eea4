#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <heed/core/tensor.h>

namespace heed::check {

/// The losses of a language model straight from its tokens: tokens i64 [B, T+1] → losses [B, T],
/// where entry t is the loss of token t+1. The function cuts inputs and targets itself, as the
/// training program does.
using TokenLosses = std::function<Tensor(const Tensor& tokens)>;

struct TargetsOptions {
  /// At most this many positions are checked, evenly spread.
  std::int64_t max_positions = 16;
  std::uint64_t seed = 1;
};

struct TargetsResult {
  bool passed = true;
  std::string problem = {};    ///< why nothing could be proven, such as two calls that differ
  std::int64_t positions = 0;  ///< checked
  /// Positions whose loss does not depend on the token that it should predict.
  std::int64_t unheard = 0;
  /// Positions whose loss depends on tokens after the one that it should predict.
  std::int64_t ahead = 0;
  /// Positions where the probabilities of all tokens do not sum to 1: the prediction depends on its target.
  std::int64_t improper = 0;
  std::int64_t first = 0;  ///< the first position with a fault
  double worst_total = 1;  ///< the sum of probabilities farthest from 1
  /// One sentence, then one line for each kind of fault.
  std::string report() const;
  std::string to_json() const;
};

/// Checks that entry t of the losses is −log of a probability of token t+1, given tokens 0 … t
/// and nothing else:
///   it changes with token t+1;  it keeps its bits when later tokens change;
///   Σ_v exp(−loss_t(token t+1 = v)) = 1.
/// The last equation holds for every prediction that does not depend on its target, and for hardly any
/// that does. The check finds targets that equal the inputs or are shifted by two, and a model without
/// its causal mask. It takes the first sequence of `tokens`, in batches of vocab_size, without a tape.
/// The sum may differ from 1 by rounding, 64 ε. A loss with label smoothing fails, since it is not −log
/// of a probability.
/// Throws    DTypeError (tokens not i64, losses not floating), ShapeError (tokens not [B, T+1],
///           losses not [B, T]), ValueError (vocab_size < 2, max_positions < 1), IndexError (a token
///           outside the vocabulary).
TargetsResult check_targets(const TokenLosses& losses, const Tensor& tokens, std::int64_t vocab_size,
                            const TargetsOptions& options = {});

}  // namespace heed::check
