#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::text {

/// A hidden Markov chain whose states each emit one fixed character. Weights are integers, so sampling is
/// exact and the same on every platform: P(state → target) = weight / Σ weights of the state.
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

/// Text drawn from a hidden chain, together with the best loss any model of that text can reach.
///
/// A window of the text starts at a random place, so its first hidden state follows the stationary
/// distribution π. What the characters x_1..x_t say about the state is a belief b_t (a distribution over
/// states):
///   b_1 ∝ π restricted to states that emit x_1,   b_{t+1} ∝ (b_t P) restricted to states that emit x_{t+1},
///   P(x_{t+1} = c | x_1..x_t) = Σ over states s that emit c of (b_t P)_s.
/// Throws    ValueError when the chain is empty, a state has no successor, an edge leaves the chain, weights
/// are zero
///           or sum to 2^32 or more, or some state cannot be reached from another.
class TextSource {
 public:
  explicit TextSource(HiddenChain chain);

  const HiddenChain& chain() const { return chain_; }

  /// π with π P = π, Σ π = 1; by state elimination without subtractions, so every entry is good to rounding.
  const std::vector<double>& stationary() const { return stationary_; }

  /// `characters` characters from a start drawn from π. The same seed gives the same text everywhere.
  std::string generate(std::size_t characters, std::uint64_t seed) const;

  /// Entry t-1 is H(x_{t+1} | x_1..x_t) in nats, t = 1..context: the least mean loss at position t of a
  /// window. All beliefs are followed with their probabilities. Beliefs equal to within 2^-40 in every entry
  /// are merged and beliefs of probability below 1e-15 are dropped; the result is off by less than 1e-8 nats.
  /// Throws    ValueError when context is 0.
  std::vector<double> conditional_entropy(std::size_t context) const;

  /// Mean of conditional_entropy(context): the floor of the loss averaged over the positions of a window.
  double entropy_floor(std::size_t context) const;

  /// Entry t-1 is -ln P(x_{t+1} | x_1..x_t) for the characters of one window: the loss of a perfect model.
  /// Throws    ValueError when this source cannot emit the window.
  std::vector<double> surprisal(std::string_view window) const;

  /// Σ_s π_s H(next state | s) in nats: the entropy rate of the hidden path. It is that of the text as well
  /// when long text tells its path.
  double path_entropy_rate() const;

  /// Entropy in nats of one character without its neighbours.
  double unigram_entropy() const;

 private:
  using Belief = std::vector<std::pair<std::uint32_t, double>>;  // (state, probability), states ascending

  Belief restrict_stationary(char symbol) const;
  std::vector<std::pair<char, Belief>> advance(const Belief& belief) const;  // beliefs sum to P(character)

  HiddenChain chain_;
  std::vector<double> stationary_;
};

/// The built-in source: short tales, say "some brave owls near the mill find a round stone and they sing".
/// Verbs agree with their subject and pronouns recall it from up to fifty characters before, across a phrase
/// of place, so there is something for attention to find. Letters a-z, space, full stop, newline.
TextSource tale_source();

}  // namespace heed::text
