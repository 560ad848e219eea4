#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/lm/sampling.h>

namespace heed::lm {
namespace {

constexpr std::string_view sampling_op = "sample_token";

std::vector<double> checked_logits(const Tensor& logits) {
  check_floating(sampling_op, "logits", logits);
  check_rank(sampling_op, "logits", logits, 1, 1);
  const std::vector<double> values = visit_floating(logits.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> elements = logits.to_vector<T>();
    return std::vector<double>(elements.begin(), elements.end());
  });
  const auto nan = std::find_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (nan != values.end()) {
    fail<ValueError>(sampling_op, "a logit is NaN", fmt::format("that of token {}", nan - values.begin()));
  }
  const bool open = std::any_of(values.begin(), values.end(),
                                [](double x) { return x > -std::numeric_limits<double>::infinity(); });
  if (!open) fail<ValueError>(sampling_op, "no logit is above -inf", describe(logits));
  return values;
}

void penalise(std::vector<double>& logits, double penalty, std::span<const std::int64_t> seen) {
  if (penalty == 1) return;
  std::unordered_set<std::int64_t> done;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto bound = static_cast<std::int64_t>(logits.size());
    if (seen[i] < 0 || seen[i] >= bound) {
      fail_index(sampling_op, "seen", seen[i], static_cast<std::int64_t>(i), bound);
    }
    if (!done.insert(seen[i]).second) continue;
    double& x = logits[static_cast<std::size_t>(seen[i])];
    x = x > 0 ? x / penalty : x * penalty;
  }
}

struct Candidate {
  std::size_t token;
  double weight;  // its probability over that of the most likely token
};

// Tokens of weight above zero, the most likely first, equal ones in the order of their ids.
std::vector<Candidate> ranked(const std::vector<double>& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<Candidate> candidates;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    // Weight 1 for every logit equal to the largest, even where inf − inf would be NaN.
    const bool top = logits[token] == largest;
    const double weight = top ? 1.0 : std::exp((logits[token] - largest) / temperature);
    if (weight > 0) candidates.push_back({token, weight});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return logits[a.token] > logits[b.token];  // weights may be equal by underflow where logits are not
  });
  return candidates;
}

double sum_of(const std::vector<Candidate>& candidates) {
  return std::accumulate(candidates.begin(), candidates.end(), 0.0,
                         [](double sum, const Candidate& c) { return sum + c.weight; });
}

void restrict(std::vector<Candidate>& candidates, const SamplingOptions& options) {
  const auto top_k = static_cast<std::size_t>(options.top_k);
  if (top_k > 0 && top_k < candidates.size()) candidates.resize(top_k);
  if (options.top_p < 1) {
    const double limit = options.top_p * sum_of(candidates);
    double reached = 0;
    std::size_t kept = 0;
    do reached += candidates[kept++].weight;
    while (reached < limit && kept < candidates.size());
    candidates.resize(kept);
  }
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < options.min_p; });
}

}  // namespace

void check_sampling(const SamplingOptions& o) {
  check_value(o.temperature >= 0, sampling_op, "temperature", o.temperature, "0 or more");
  check_value(o.top_k >= 0, sampling_op, "top_k", o.top_k, "0 or more");
  check_value(o.top_p >= 0 && o.top_p <= 1, sampling_op, "top_p", o.top_p, "0 to 1");
  check_value(o.min_p >= 0 && o.min_p <= 1, sampling_op, "min_p", o.min_p, "0 to 1");
  check_value(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty), sampling_op,
              "repetition_penalty", o.repetition_penalty, "above 0 and finite");
}

std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, Generator& generator,
                          std::span<const std::int64_t> seen) {
  check_sampling(options);
  std::vector<double> x = checked_logits(logits);
  penalise(x, options.repetition_penalty, seen);
  const double draw = uniform_from_bits<double>(random_bits(generator.take(), 0));
  if (options.temperature == 0) return std::max_element(x.begin(), x.end()) - x.begin();

  std::vector<Candidate> candidates = ranked(x, options.temperature);
  restrict(candidates, options);
  double point = draw * sum_of(candidates);
  for (const Candidate& candidate : candidates) {
    if (point < candidate.weight) return static_cast<std::int64_t>(candidate.token);
    point -= candidate.weight;
  }
  return static_cast<std::int64_t>(candidates.back().token);  // rounding carried the point past the end
}

}  // namespace heed::lm
