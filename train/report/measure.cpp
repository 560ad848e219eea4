#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/ops/cast.h>
#include <heed/optim/clip.h>
#include <heed/train/report/measure.h>

namespace heed::train::report {
namespace {

constexpr double saturated_weight = 0.99;

std::string part_of(const std::string& path) {
  const std::size_t digit = path.find_first_of("0123456789");
  return path.substr(0, path.find('.', digit == std::string::npos ? 0 : digit));
}

// The entropy and the largest weight of one row.
struct Spread {
  double entropy = 0;
  double largest = 0;
};

Spread spread_of(std::span<const float> weights) {
  Spread spread;
  for (const auto weight : weights) {
    const auto p = static_cast<double>(weight);
    spread.largest = std::max(spread.largest, p);
    if (p > 0) spread.entropy -= p * std::log(p);
  }
  return spread;
}

// The same of weights ∝ P^power. Where P is 0, the result would be below 1e-45, too.
Spread sharpened(std::span<const float> weights, double power) {
  const auto largest = static_cast<double>(*std::max_element(weights.begin(), weights.end()));
  double sum = 0;       // Σ e^x,  x = power (log p − log largest)
  double weighted = 0;  // Σ e^x x
  for (const auto weight : weights) {
    if (weight <= 0) continue;
    const double x = power * std::log(static_cast<double>(weight) / largest);
    sum += std::exp(x);
    weighted += std::exp(x) * x;
  }
  return {.entropy = std::log(sum) - weighted / sum, .largest = 1 / sum};
}

// How many tokens each token may attend to, itself and those before it in its document: 1, 2, 3 …
std::vector<std::int64_t> open_counts(const Tensor& documents) {
  const std::vector<std::int64_t> ids = documents.to_vector<std::int64_t>();
  const auto length = static_cast<std::size_t>(documents.shape().back());
  std::vector<std::int64_t> counts(ids.size(), 1);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (i % length != 0 && ids[i] == ids[i - 1]) counts[i] = counts[i - 1] + 1;
  }
  return counts;
}

// Adds the rows of weights [.., H, T, T] that have more than one token to attend to to the entries [H] of
// the statistics. `open` [.., T] is the result of open_counts.
void add_layer(const Tensor& weights, const std::vector<std::int64_t>& open, double power,
               HeadStatistics& statistics) {
  const std::int64_t heads = weights.size(-3);
  const std::int64_t length = weights.size(-1);
  const std::int64_t samples = weights.numel() / (heads * length * length);
  const std::vector<float> values = cast(weights, DType::f32).to_vector<float>();
  const auto alone = std::count(open.begin(), open.end(), 1);
  const auto rows = static_cast<double>(samples * length - alone);
  const std::size_t first = statistics.entropy.size();
  for (auto* list : {&statistics.entropy, &statistics.saturation, &statistics.undivided_entropy,
                     &statistics.undivided_saturation}) {
    list->resize(first + static_cast<std::size_t>(heads));
  }
  parallel_for(heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head) {
      const std::size_t at = first + static_cast<std::size_t>(head);
      for (std::int64_t i = 0; i < samples * length; ++i) {
        const std::int64_t row = i % length;
        const std::int64_t count = open[static_cast<std::size_t>(i)];
        if (count == 1) continue;
        const std::int64_t map = (i / length) * heads + head;
        const float* first_open = values.data() + (map * length + row) * length + row + 1 - count;
        const std::span all(first_open, static_cast<std::size_t>(count));
        const Spread as_is = spread_of(all);
        const Spread undivided = sharpened(all, power);
        statistics.entropy[at] += as_is.entropy / rows;
        statistics.saturation[at] += (as_is.largest > saturated_weight ? 1 : 0) / rows;
        statistics.undivided_entropy[at] += undivided.entropy / rows;
        statistics.undivided_saturation[at] += (undivided.largest > saturated_weight ? 1 : 0) / rows;
      }
    }
  });
}

}  // namespace

std::vector<std::pair<std::string, double>> gradient_norms(const nn::NamedTensors& parameters) {
  std::vector<std::pair<std::string, double>> norms;
  nn::NamedTensors part;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    part.push_back(parameters[i]);
    const std::string name = part_of(parameters[i].first);
    if (i + 1 < parameters.size() && part_of(parameters[i + 1].first) == name) continue;
    constexpr double longest = std::numeric_limits<double>::infinity();  // clips nothing
    norms.emplace_back(name, optim::clip_grad_norm(part, longest, {.allow_nonfinite = true}));
    part.clear();
  }
  return norms;
}

HeadStatistics measure_heads(const nn::CausalLM& model, const Tensor& tokens, const Tensor& documents) {
  const std::int64_t length = tokens.rank() == 0 ? 0 : tokens.shape().back();
  check_value(length >= 2, "measure_heads", "number of tokens", length, "at least 2");
  const NoGrad guard;
  HeadStatistics statistics;
  const std::vector<Tensor> weights = model.attention_weights(tokens, documents);
  const auto open = open_counts(documents.defined() ? documents : zeros(tokens.shape(), DType::i64));
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    const auto& options = model.blocks[layer].attention.options();
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(options.head_dim)));
    add_layer(weights[layer], open, 1 / scale, statistics);
  }
  return statistics;
}

double even_entropy(std::int64_t tokens) {
  double sum = 0;
  for (std::int64_t i = 2; i <= tokens; ++i) sum += std::log(static_cast<double>(i));
  return tokens < 2 ? 0 : sum / static_cast<double>(tokens - 1);
}

double even_entropy(const Tensor& documents) {
  double sum = 0;
  std::int64_t rows = 0;
  for (const std::int64_t count : open_counts(documents)) {
    if (count == 1) continue;
    sum += std::log(static_cast<double>(count));
    ++rows;
  }
  return rows == 0 ? 0 : sum / static_cast<double>(rows);
}

}  // namespace heed::train::report
