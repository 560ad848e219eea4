#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/random.h>
#include <heed/text/induction_source.h>

namespace heed::text {
namespace {

constexpr std::int64_t most_keys = 26;
constexpr std::int64_t most_values = 10;

// Numbers 0 … n−1. Their probabilities differ from 1/n by less than 2^-64.
class DocumentDraws {
 public:
  DocumentDraws(std::uint64_t seed, std::uint64_t document) : stream_{seed, document} {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_bits(stream_, index_++) % static_cast<std::uint64_t>(n));
  }

 private:
  RandomStream stream_;
  std::uint64_t index_ = 0;
};

// Entry j is the probability that a walk around a circle, by 1 … steps at a time, has not returned to its
// start after j steps.
std::vector<double> not_back(std::size_t entries, const InductionOptions& o) {
  const auto size = static_cast<std::size_t>(o.keys);
  std::vector<double> at(size);  // walks that have not returned, by their place; they start at 0
  at[0] = 1;
  std::vector<double> left(entries, 1.0);
  for (std::size_t j = 1; j < entries; ++j) {
    std::vector<double> next(size);
    for (std::size_t from = 0; from < size; ++from) {
      for (std::size_t step = 1; step <= static_cast<std::size_t>(o.steps); ++step) {
        next[(from + step) % size] += at[from] / static_cast<double>(o.steps);
      }
    }
    next[0] = 0;
    left[j] = std::accumulate(next.begin(), next.end(), 0.0);
    at = std::move(next);
  }
  return left;
}

bool is_key(std::size_t place) { return place % 2 == 0; }

}  // namespace

InductionSource::InductionSource(const InductionOptions& options) : options_(options) {
  check_value(options.keys >= 1 && options.keys <= most_keys, "InductionSource", "keys", options.keys,
              "1 to 26");
  check_value(options.values >= 1 && options.values <= most_values, "InductionSource", "values",
              options.values, "1 to 10");
  check_value(options.steps >= 1 && options.steps <= options.keys, "InductionSource", "steps", options.steps,
              fmt::format("1 to keys {}", options.keys));
}

std::string InductionSource::generate(std::int64_t documents, std::int64_t length, std::uint64_t seed) const {
  std::string text;
  std::string table(static_cast<std::size_t>(options_.keys), '0');
  for (std::int64_t document = 0; document < documents; ++document) {
    DocumentDraws draws(seed, static_cast<std::uint64_t>(document));
    for (char& value : table) value = static_cast<char>('0' + draws.below(options_.values));
    std::int64_t key = 0;
    for (std::int64_t place = 0; place < length; ++place) {
      if (place == 0) key = draws.below(options_.keys);
      if (place > 0 && place % 2 == 0) key = (key + 1 + draws.below(options_.steps)) % options_.keys;
      text += place % 2 == 0 ? static_cast<char>('a' + key) : table[static_cast<std::size_t>(key)];
    }
  }
  return text;
}

std::vector<double> InductionSource::conditional_entropy(std::size_t context) const {
  check_value(context >= 1, "conditional_entropy", "context", static_cast<std::int64_t>(context),
              "at least 1");
  const double key = std::log(static_cast<double>(options_.steps));
  const double value = std::log(static_cast<double>(options_.values));
  const std::vector<double> fresh = not_back(context / 2 + 1, options_);
  std::vector<double> entropy(context);
  for (std::size_t place = 0; place < context; ++place) {  // predicts the character at place + 1
    entropy[place] = is_key(place) ? fresh[place / 2] * value : key;
  }
  return entropy;
}

double InductionSource::entropy_floor(std::size_t context) const {
  const std::vector<double> entropy = conditional_entropy(context);
  return std::accumulate(entropy.begin(), entropy.end(), 0.0) / static_cast<double>(context);
}

void InductionSource::check(std::string_view window) const {
  std::map<char, char> table;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const char first = is_key(i) ? 'a' : '0';
    const std::int64_t most = is_key(i) ? options_.keys : options_.values;
    bool known = window[i] >= first && window[i] - first < most;
    if (known && is_key(i) && i > 0) {
      const std::int64_t ahead = (window[i] - window[i - 2] + options_.keys - 1) % options_.keys + 1;
      known = ahead <= options_.steps;
    }
    if (known && (is_key(i) || table.emplace(window[i - 1], window[i]).first->second == window[i])) continue;
    fail<ValueError>("InductionSource", "no document of this source begins so",
                     fmt::format("'{}' at position {}", window[i], i));
  }
}

std::vector<double> InductionSource::surprisal(std::string_view window) const {
  check(window);
  std::vector<double> values;
  for (std::size_t next = 1; next < window.size(); ++next) {
    const std::string_view before = window.substr(0, next - 1);
    const bool seen = !is_key(next) && before.find(window[next - 1]) != std::string_view::npos;
    const std::int64_t ways = is_key(next) ? options_.steps : seen ? 1 : options_.values;
    values.push_back(std::log(static_cast<double>(ways)));
  }
  return values;
}

std::vector<CopyPlace> InductionSource::copies(std::string_view window) const {
  check(window);
  std::vector<CopyPlace> places;
  for (std::size_t query = 0; query < window.size(); query += 2) {
    CopyPlace place{static_cast<std::int64_t>(query), {}};
    for (std::size_t key = 0; key < query; key += 2) {
      if (window[key] == window[query]) place.sources.push_back(static_cast<std::int64_t>(key + 1));
    }
    if (!place.sources.empty()) places.push_back(std::move(place));
  }
  return places;
}

}  // namespace heed::text
