#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <heed/core/tensor.h>

namespace heed::check {

/// The losses of a language model straight from its text: tokens i64 [B, T+1] → losses [B, T], where entry t is the loss of
/// token t+1. It cuts inputs and targets by itself, as the training program does.
using TokenLosses = std::function<Tensor(const Tensor& tokens)>;

struct TargetsOptions {
  /// Of more positions than these, so many are looked at, evenly spread.
  std::int64_t max_positions = 16;
  std::uint64_t seed = 1;
};

struct TargetsResult {
  bool passed = true;
  std::string problem = {};  ///< what stands between the losses and a proof, such as two calls that differ
  std::int64_t positions = 0;
  // Of these positions,
  std::int64_t unheard = 0;  ///< the loss does not change with the token it should predict,
  std::int64_t ahead = 0;    ///< the loss hears tokens behind the one it should predict,
  std::int64_t improper =
      0;  ///< the probabilities of all tokens do not add up to 1: the prediction hears its target.
  std::int64_t first = 0;  ///< the first position with a fault
  double worst_total = 1;  ///< the sum of probabilities farthest from 1
  /// One sentence, then one line a fault.
  std::string report() const;
  std::string to_json() const;
};

/// Whether entry t of the losses is −log of a probability of token t+1 that was given tokens 0 … t and nothing else:
///   it changes with token t+1;  no bit of it changes with the tokens behind;  Σ_v exp(−loss_t(token t+1 = v)) = 1.
/// The last holds for every proper prediction and for no one that has seen its target, unless that changes nothing. It
/// finds targets that are the inputs, or shifted by two, and a model without its mask. Takes the first sequence of tokens,
/// in batches of vocab_size, without a tape. The sum may be off by rounding, 64 ε. Label smoothing is no probability.
/// Throws    DTypeError (tokens not i64, losses not floating), ShapeError (tokens not [B, T+1], losses not [B, T]),
///           ValueError (vocab_size < 2, max_positions < 1), IndexError (a token outside the vocabulary).
TargetsResult check_targets(const TokenLosses& losses, const Tensor& tokens, std::int64_t vocab_size,
                            const TargetsOptions& options = {});

}  // namespace heed::check
