#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::text {

/// A hidden Markov chain in which each state emits one fixed character. Weights are integers, so that
/// sampling is exact and the same on every platform: P(state → target) = weight / Σ weights of the state.
struct HiddenChain {
  struct Edge {
    std::size_t target = 0;
    std::uint32_t weight = 1;
  };
  struct State {
    char symbol = ' ';
    std::vector<Edge> next;
  };
  std::vector<State> states;
};

/// Text drawn from a hidden chain, together with the lowest loss that any model of that text can reach.
///
/// A training window starts at a random place of the text, so its first hidden state follows the
/// stationary distribution π. What the characters x_1..x_t tell about the state is the belief b_t, a
/// distribution over states:
///   b_1 ∝ π restricted to states that emit x_1,   b_{t+1} ∝ (b_t P) restricted to states that emit x_{t+1},
///   P(x_{t+1} = c | x_1..x_t) = Σ over states s that emit c of (b_t P)_s.
/// Throws    ValueError (the chain is empty, a state has no successor, an edge leads outside the chain, the
///           weights of a state sum to 0 or to 2^32 or more, a state cannot be reached from another).
class TextSource {
 public:
  explicit TextSource(HiddenChain chain);

  const HiddenChain& chain() const { return chain_; }

  /// π with π P = π and Σ π = 1. It is computed by state elimination without subtractions, so every entry
  /// is accurate to rounding.
  const std::vector<double>& stationary() const { return stationary_; }

  /// `characters` characters from a start drawn from π. The same seed gives the same text
  /// on every platform.
  std::string generate(std::size_t characters, std::uint64_t seed) const;

  /// Entry t-1 is H(x_{t+1} | x_1..x_t) in nats, t = 1..context: the lowest possible mean loss at position
  /// t of a training window. All beliefs are followed with their probabilities. Beliefs that agree within
  /// 2^-40 in every entry are merged, and beliefs of probability below 1e-15 are dropped; the error is
  /// below 1e-8 nats.
  /// Throws    ValueError when context is 0.
  std::vector<double> conditional_entropy(std::size_t context) const;

  /// The mean of conditional_entropy(context): the lowest possible loss, averaged over the positions of
  /// a training window.
  double entropy_floor(std::size_t context) const;

  /// Entry t-1 is -ln P(x_{t+1} | x_1..x_t) for the characters of one training window: the loss of
  /// a perfect model.
  /// Throws    ValueError when this source cannot emit the window.
  std::vector<double> surprisal(std::string_view window) const;

  /// Σ_s π_s H(next state | s) in nats: the entropy rate of the hidden states. It equals that of the text
  /// if a long text determines its states.
  double path_entropy_rate() const;

  /// The entropy in nats of a single character without context.
  double unigram_entropy() const;

 private:
  using Belief = std::vector<std::pair<std::uint32_t, double>>;  // (state, probability), states ascending

  Belief restrict_stationary(char symbol) const;
  std::vector<std::pair<char, Belief>> advance(
      const Belief& belief) const;  // each belief sums to P(character)

  HiddenChain chain_;
  std::vector<double> stationary_;
};

/// The built-in source: short tales, such as "some brave owls near the mill find a round stone and
/// they sing". Verbs agree with their subject, and pronouns refer to it from up to fifty characters
/// later, across a phrase of place, so there is something for attention to find. Letters a-z, space,
/// full stop, newline.
TextSource tale_source();

}  // namespace heed::text
