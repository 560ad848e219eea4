#include <string>
#include <string_view>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/eval_mode.h>
#include <heed/train/report/induction_scores.h>

namespace heed::train::report {

std::vector<double> attention_on(const Tensor& weights, std::span<const text::CopyPlace> places) {
  check_dtype("attention_on", "weights", weights, {DType::f32});
  check_rank("attention_on", "weights", weights, 3, 3);
  check_value(!places.empty(), "attention_on", "number of places", std::int64_t{0}, "at least 1");
  const auto values = weights.to_vector<float>();
  const std::int64_t queries = weights.size(1);
  const std::int64_t keys = weights.size(2);
  std::vector<double> means;
  for (std::int64_t head = 0; head < weights.size(0); ++head) {
    double sum = 0;
    for (const text::CopyPlace& place : places) {
      for (const std::int64_t source : place.sources) {
        if (place.query < 0 || place.query >= queries || source < 0 || source >= keys) {
          fail<ShapeError>("attention_on", "a place outside of weights", weights.shape().str());
        }
        sum += static_cast<double>(
            values[static_cast<std::size_t>((head * queries + place.query) * keys + source)]);
      }
    }
    means.push_back(sum / static_cast<double>(places.size()));
  }
  return means;
}

std::vector<std::vector<double>> induction_scores(nn::CausalLM& model, const text::Tokenizer& tokenizer,
                                                  const text::InductionSource& source, std::int64_t documents,
                                                  std::uint64_t seed) {
  check_value(documents >= 1, "induction_scores", "documents", documents, "at least 1");
  const nn::EvalMode mode(model);
  const NoGrad guard;
  const std::int64_t length = model.options().context;
  const std::string text = source.generate(documents, length, seed);
  std::vector<std::vector<double>> sums(model.blocks.size());
  double counted = 0;
  for (std::int64_t document = 0; document < documents; ++document) {
    const auto begin = static_cast<std::size_t>(document * length);
    const std::string_view window = std::string_view(text).substr(begin, static_cast<std::size_t>(length));
    const std::vector<text::CopyPlace> places = source.copies(window);
    if (places.empty()) continue;
    const std::vector<std::int64_t> ids = tokenizer.encode(window);
    const Tensor tokens = from_span(std::span<const std::int64_t>(ids), {length});
    const std::vector<Tensor> weights = model.attention_weights(tokens);
    for (std::size_t layer = 0; layer < weights.size(); ++layer) {
      const std::vector<double> means = attention_on(weights[layer], places);
      sums[layer].resize(means.size());
      for (std::size_t head = 0; head < means.size(); ++head) sums[layer][head] += means[head];
    }
    ++counted;
  }
  check_value(counted > 0, "induction_scores", "documents with something to copy", std::int64_t{0},
              "at least 1");
  for (std::vector<double>& heads : sums) {
    for (double& sum : heads) sum /= counted;
  }
  return sums;
}

}  // namespace heed::train::report
