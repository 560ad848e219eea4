#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/slice.h>
#include <heed/train/generate.h>

namespace heed::train {
namespace {

void check_options(const SamplingOptions& options) {
  check_value(options.temperature >= 0, "sample_token", "temperature", options.temperature, "0 or more");
  check_value(options.top_k >= 0, "sample_token", "top_k", options.top_k, "0 or more");
}

std::vector<double> checked_logits(const Tensor& logits) {
  check_floating("sample_token", "logits", logits);
  check_rank("sample_token", "logits", logits, 1, 1);
  const std::vector<double> values = visit_floating(logits.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> elements = logits.to_vector<T>();
    return std::vector<double>(elements.begin(), elements.end());
  });
  const auto nan = std::find_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (nan != values.end()) {
    fail<ValueError>("sample_token", "a logit is NaN", fmt::format("that of token {}", nan - values.begin()));
  }
  const bool open = std::any_of(values.begin(), values.end(),
                                [](double x) { return x > -std::numeric_limits<double>::infinity(); });
  if (!open) fail<ValueError>("sample_token", "no logit is above -inf", describe(logits));
  return values;
}

// The k largest first, equal ones by their number, the rest in any order behind them.
std::vector<std::size_t> candidates(const std::vector<double>& logits, std::int64_t top_k) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto k = static_cast<std::size_t>(top_k);
  if (k == 0 || k >= order.size()) return order;
  const auto before = [&](std::size_t a, std::size_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, Generator& generator) {
  check_options(options);
  const std::vector<double> x = checked_logits(logits);
  const double draw = uniform_from_bits<double>(random_bits(generator.take(), 0));
  const auto largest = std::max_element(x.begin(), x.end());
  if (options.temperature == 0) return largest - x.begin();

  const std::vector<std::size_t> tokens = candidates(x, options.top_k);
  std::vector<double> weights;
  for (const std::size_t token : tokens) {
    // Equal to the largest: weight 1 even where inf − inf would be NaN.
    weights.push_back(x[token] == *largest ? 1.0 : std::exp((x[token] - *largest) / options.temperature));
  }
  double point = draw * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (weights[i] == 0) continue;
    chosen = tokens[i];  // rounding may carry the point past the last weight: then the last open token
    if (point < weights[i]) break;
    point -= weights[i];
  }
  return static_cast<std::int64_t>(chosen);
}

std::vector<std::int64_t> generate(const nn::CausalLM& model, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options, Generator& generator,
                                   const std::function<void(std::int64_t)>& on_token) {
  if (prompt.empty()) fail<ValueError>("generate", "the prompt is empty", {}, "at least one token");
  check_value(count >= 0, "generate", "count", count, "0 or more");
  check_options(options);
  const NoGrad guard;
  const auto context = static_cast<std::size_t>(model.options().context);
  std::vector<std::int64_t> tokens(prompt.begin(), prompt.end());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t length = std::min(tokens.size(), context);
    const std::span<const std::int64_t> window(tokens.end() - static_cast<std::ptrdiff_t>(length),
                                               tokens.end());
    const Tensor logits = model(from_span(window, {static_cast<std::int64_t>(length)}));
    tokens.push_back(sample_token(select(logits, 0, -1), options, generator));
    if (on_token) on_token(tokens.back());
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace heed::train
