#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include <heed/core/error.h>
#include <heed/text/corpus.h>

namespace heed::text {
namespace {

constexpr std::size_t symbol_count = 256;
constexpr double negligible = 1e-15;
constexpr double merge_steps = 1099511627776.0;  // 2^40

std::size_t symbol_index(char symbol) { return static_cast<unsigned char>(symbol); }

std::uint64_t total_weight(const HiddenChain::State& state) {
  std::uint64_t total = 0;
  for (const auto& edge : state.next) total += edge.weight;
  return total;
}

void validate(const HiddenChain& chain) {
  if (chain.states.empty()) fail<ValueError>("TextSource", "the chain has no states");
  for (std::size_t s = 0; s < chain.states.size(); ++s) {
    const std::string name = "state " + std::to_string(s);
    for (const auto& edge : chain.states[s].next) {
      if (edge.target >= chain.states.size()) {
        fail<ValueError>("TextSource", "an edge leaves the chain",
                         name + " leads to state " + std::to_string(edge.target),
                         "a state below " + std::to_string(chain.states.size()));
      }
    }
    const std::uint64_t total = total_weight(chain.states[s]);
    if (total == 0 || total >> 32 != 0) {
      fail<ValueError>("TextSource", "weights out of range",
                       name + " has total weight " + std::to_string(total), "1 to 2^32 - 1");
    }
  }
}

// The method of Grassmann, Taksar and Heyman: states are eliminated from the last to the second, and
// each passes its flow on to the others; then the probabilities are built up again. Nothing is
// subtracted, so nothing cancels.
std::vector<double> stationary_distribution(const HiddenChain& chain) {
  const std::size_t count = chain.states.size();
  std::vector<std::map<std::size_t, double>> out(count);  // out[i][j]: flow i -> j
  // in[j][i], j > i: the same flow, kept as it is when j is eliminated
  std::vector<std::map<std::size_t, double>> in(count);
  for (std::size_t s = 0; s < count; ++s) {
    const auto total = static_cast<double>(total_weight(chain.states[s]));
    for (const auto& edge : chain.states[s].next) {
      if (edge.weight > 0) out[s][edge.target] += edge.weight / total;
    }
  }
  for (std::size_t s = 0; s < count; ++s) {
    for (const auto& [target, flow] : out[s]) in[target][s] = flow;
  }
  std::vector<double> leave(count, 1.0);
  for (std::size_t n = count - 1; n > 0; --n) {
    double sum = 0;
    for (auto it = out[n].begin(); it != out[n].end() && it->first < n; ++it) sum += it->second;
    leave[n] = sum;
    in[n].erase(in[n].lower_bound(n), in[n].end());
    if (sum <= 0 || in[n].empty()) {
      fail<ValueError>("TextSource", "the chain is not connected",
                       "state " + std::to_string(n) + (sum <= 0 ? " cannot be left" : " cannot be reached"),
                       "every state reachable from every other");
    }
    for (const auto& [source, flow] : in[n]) {
      for (auto it = out[n].begin(); it != out[n].end() && it->first < n; ++it) {
        in[it->first][source] = (out[source][it->first] += flow * it->second / sum);
      }
    }
  }
  std::vector<double> probability(count, 0.0);
  probability[0] = 1.0;
  for (std::size_t n = 1; n < count; ++n) {
    for (const auto& [source, flow] : in[n]) probability[n] += probability[source] * flow / leave[n];
  }
  const double sum = std::accumulate(probability.begin(), probability.end(), 0.0);
  for (double& p : probability) p /= sum;
  return probability;
}

// Counter-based: draw number k is a hash (splitmix64) of seed and k.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound) without bias: a draw from the incomplete last part of the 64-bit
  // range is repeated.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t remainder = (UINT64_MAX % bound + 1) % bound;
    std::uint64_t draw = next();
    while (draw > UINT64_MAX - remainder) draw = next();
    return draw % bound;
  }

 private:
  std::uint64_t state_;
};

std::size_t step(const HiddenChain::State& state, Draws& draws) {
  std::uint64_t point = draws.below(total_weight(state));
  for (const auto& edge : state.next) {
    if (point < edge.weight) return edge.target;
    point -= edge.weight;
  }
  return state.next.back().target;  // not reached: point < total weight
}

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0.0; }

struct WeightedBelief {
  std::vector<std::pair<std::uint32_t, double>> belief;
  double probability = 0;
};

// The key under which beliefs are merged: states and probabilities in steps of 2^-40, as bytes.
std::string merge_key(const std::vector<std::pair<std::uint32_t, double>>& belief) {
  std::string key;
  key.reserve(belief.size() * 10);
  for (const auto& [state, p] : belief) {
    const auto steps = static_cast<std::uint64_t>(std::llround(p * merge_steps));
    for (unsigned shift = 0; shift < 32; shift += 8) key.push_back(static_cast<char>(state >> shift & 0xFF));
    for (unsigned shift = 0; shift < 48; shift += 8) key.push_back(static_cast<char>(steps >> shift & 0xFF));
  }
  return key;
}

double normalise(std::vector<std::pair<std::uint32_t, double>>& belief) {
  double mass = 0;
  for (const auto& entry : belief) mass += entry.second;
  for (auto& entry : belief) entry.second /= mass;
  return mass;
}

}  // namespace

TextSource::TextSource(HiddenChain chain) : chain_(std::move(chain)) {
  validate(chain_);
  stationary_ = stationary_distribution(chain_);
}

std::string TextSource::generate(std::size_t characters, std::uint64_t seed) const {
  Draws draws(seed);
  // π is real-valued: 53 random bits are compared with its running sums, which are doubles, so the
  // comparison is exact.
  const double point = static_cast<double>(draws.next() >> 11) * 0x1p-53;
  std::size_t state = 0;
  double sum = stationary_[0];
  while (state + 1 < stationary_.size() && point >= sum) sum += stationary_[++state];
  std::string text;
  text.reserve(characters);
  while (text.size() < characters) {
    text.push_back(chain_.states[state].symbol);
    state = step(chain_.states[state], draws);
  }
  return text;
}

TextSource::Belief TextSource::restrict_stationary(char symbol) const {
  Belief belief;
  for (std::size_t s = 0; s < stationary_.size(); ++s) {
    if (chain_.states[s].symbol == symbol) belief.emplace_back(static_cast<std::uint32_t>(s), stationary_[s]);
  }
  return belief;
}

std::vector<std::pair<char, TextSource::Belief>> TextSource::advance(const Belief& belief) const {
  std::map<std::uint32_t, double> reached;
  for (const auto& [s, p] : belief) {
    const auto& state = chain_.states[s];
    const auto total = static_cast<double>(total_weight(state));
    for (const auto& edge : state.next) {
      if (edge.weight > 0) reached[static_cast<std::uint32_t>(edge.target)] += p * edge.weight / total;
    }
  }
  std::map<char, Belief> by_symbol;
  for (const auto& entry : reached) by_symbol[chain_.states[entry.first].symbol].push_back(entry);
  return {by_symbol.begin(), by_symbol.end()};
}

std::vector<double> TextSource::conditional_entropy(std::size_t context) const {
  if (context == 0) fail<ValueError>("conditional_entropy", "context out of range", "0", "at least 1");
  std::vector<WeightedBelief> current;
  for (std::size_t c = 0; c < symbol_count; ++c) {
    Belief belief = restrict_stationary(static_cast<char>(c));
    if (belief.empty()) continue;
    const double mass = normalise(belief);
    current.push_back({std::move(belief), mass});
  }
  std::vector<double> entropy(context, 0.0);
  for (double& value : entropy) {
    std::vector<WeightedBelief> following;
    std::unordered_map<std::string, std::size_t> known;  // merge key -> index in following
    for (const auto& [belief, probability] : current) {
      for (auto& [symbol, next] : advance(belief)) {
        const double p = normalise(next);
        value += probability * entropy_term(p);
        if (probability * p < negligible) continue;
        const auto [place, is_new] = known.emplace(merge_key(next), following.size());
        if (is_new) following.push_back({std::move(next), 0.0});
        following[place->second].probability += probability * p;
      }
    }
    current = std::move(following);
  }
  return entropy;
}

double TextSource::entropy_floor(std::size_t context) const {
  const auto entropy = conditional_entropy(context);
  return std::accumulate(entropy.begin(), entropy.end(), 0.0) / static_cast<double>(context);
}

std::vector<double> TextSource::surprisal(std::string_view window) const {
  std::vector<double> cost;
  Belief belief;
  for (std::size_t t = 0; t < window.size(); ++t) {
    Belief next;
    if (t == 0) {
      next = restrict_stationary(window[0]);
    } else {
      for (auto& [symbol, reached] : advance(belief)) {
        if (symbol == window[t]) next = std::move(reached);
      }
    }
    if (next.empty()) {
      fail<ValueError>("surprisal", "the source cannot emit this window",
                       "at character " + std::to_string(t));
    }
    const double p = normalise(next);
    if (t > 0) cost.push_back(-std::log(p));
    belief = std::move(next);
  }
  return cost;
}

double TextSource::path_entropy_rate() const {
  double rate = 0;
  for (std::size_t s = 0; s < stationary_.size(); ++s) {
    const auto& state = chain_.states[s];
    const auto total = static_cast<double>(total_weight(state));
    for (const auto& edge : state.next) rate += stationary_[s] * entropy_term(edge.weight / total);
  }
  return rate;
}

double TextSource::unigram_entropy() const {
  std::array<double, symbol_count> probability{};
  for (std::size_t s = 0; s < stationary_.size(); ++s) {
    probability[symbol_index(chain_.states[s].symbol)] += stationary_[s];
  }
  double entropy = 0;
  for (const double p : probability) entropy += entropy_term(p);
  return entropy;
}

}  // namespace heed::text
