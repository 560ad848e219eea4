// How well a model predicts a text, against the sum over single forwards.

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/lm/text_score.h>

using Catch::Contains;
using heed::lm::score_tokens;

namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t vocabulary = 5;

heed::nn::CausalLM model_of(std::int64_t context) {
  heed::Generator generator(1);
  heed::nn::CausalLM model({.vocab_size = vocabulary,
                            .context = context,
                            .num_layers = 1,
                            .num_heads = 1,
                            .embed_dim = 4,
                            .dropout = 0.5},
                           generator);
  const heed::NoGrad guard;
  for (auto& [path, parameter] : model.named_parameters()) {
    if (parameter.rank() == 2)
      parameter.copy_(heed::randn(parameter.shape(), generator, heed::DType::f32, 0.0, 0.7));
  }
  return model;
}

Ids text_of(std::int64_t length) {
  Ids ids;
  for (std::int64_t i = 0; i < length; ++i) ids.push_back((i * i + 3 * i / 2) % vocabulary);
  return ids;
}

// −log p of the last token of a sequence, given the others.
double surprise(const heed::nn::CausalLM& model, const Ids& ids) {
  const heed::NoGrad guard;
  const auto given = static_cast<std::int64_t>(ids.size()) - 1;
  const auto logits =
      model(heed::from_span(std::span<const std::int64_t>(ids).first(ids.size() - 1), {given}))
          .to_vector<float>();
  double sum = 0;
  for (auto i = logits.end() - vocabulary; i != logits.end(); ++i) sum += std::exp(static_cast<double>(*i));
  return std::log(sum) - static_cast<double>(*(logits.end() - vocabulary + ids.back()));
}

}  // namespace

TEST_CASE("every token but the first is predicted once, from what its window holds before it",
          "[report-44]") {
  for (const std::int64_t stride : {4, 3, 1}) {
    for (const std::int64_t length : {2, 3, 5, 6, 9, 10, 23}) {
      for (const std::int64_t batch : {1, 3}) {
        CAPTURE(stride, length, batch);
        auto model = model_of(4);
        const Ids ids = text_of(length);
        const auto score = score_tokens(model, ids, {.stride = stride, .batch = batch});
        CHECK(score.tokens == length - 1);
        CHECK(model.training());
        model.eval();
        double expected = 0;
        for (std::int64_t i = 1; i < length; ++i) {
          // The first window that reaches token i: stride · w + 4 >= i.
          const std::int64_t begin = i <= 4 ? 0 : (i - 4 + stride - 1) / stride * stride;
          expected += surprise(model, Ids(ids.begin() + begin, ids.begin() + i + 1));
        }
        CHECK(score.nats == Approx(expected).epsilon(1e-5));  // float32 logits
      }
    }
  }
}

TEST_CASE("what cannot be scored is refused") {
  auto model = model_of(4);
  CHECK_THROWS_WITH(score_tokens(model, text_of(1)),
                    Contains("number of tokens is 1") && Contains("at least 2"));
  CHECK_THROWS_WITH(score_tokens(model, text_of(9), {.stride = 5}), Contains("stride is 5"));
  CHECK_THROWS_AS(score_tokens(model, text_of(9), {.batch = 0}), heed::ValueError);
  CHECK_THROWS_AS(score_tokens(model, Ids{1, vocabulary}), heed::IndexError);
}
