#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/isolation_targets.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/dropout.h>
#include <heed/ops/linear.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>

using namespace heed;
using check::check_targets;
using check::TargetsResult;
using check::TokenLosses;

namespace {

constexpr std::int64_t vocabulary = 7;
constexpr std::int64_t context = 6;

Tensor text() {
  Generator generator(2);
  return randint(0, vocabulary, {1, context + 1}, generator);
}

using Logits = std::function<Tensor(const nn::CausalLM& model, const Tensor& inputs)>;

Tensor masked(const nn::CausalLM& model, const Tensor& inputs) { return model(inputs); }

Tensor unmasked(const nn::CausalLM& model, const Tensor& inputs) {
  Tensor x = model.token(inputs);
  for (const nn::TransformerBlock& block : model.blocks) x = block(x);
  return linear(model.norm(x), model.token.weight);
}

// Losses of the tokens `shift` behind their inputs; a target beyond the text is its last token.
TokenLosses shifted(std::int64_t shift, Logits logits, DType dtype = DType::f64, double smoothing = 0) {
  Generator generator(1);
  auto model = std::make_shared<nn::CausalLM>(
      nn::CausalLMOptions{
          .vocab_size = vocabulary, .context = context, .num_layers = 1, .num_heads = 2, .embed_dim = 8},
      generator);
  model->to(dtype);
  return [=](const Tensor& tokens) {
    const std::int64_t samples = tokens.size(0);
    const Tensor inputs = slice(tokens, 1, 0, context);
    Tensor targets = zeros({samples, context}, DType::i64);
    const auto all = tokens.to_vector<std::int64_t>();
    for (std::int64_t b = 0; b < samples; ++b) {
      for (std::int64_t t = 0; t < context; ++t) {
        targets.mutable_data<std::int64_t>()[b * context + t] =
            all[static_cast<std::size_t>(b * (context + 1) + std::min(t + shift, context))];
      }
    }
    const Tensor flat = reshape(logits(*model, inputs), {samples * context, vocabulary});
    const Tensor losses = cross_entropy(flat, reshape(targets, {samples * context}),
                                        {.label_smoothing = smoothing, .reduction = Reduction::none});
    return reshape(losses, {samples, context});
  };
}

}  // namespace

TEST_CASE("check_targets passes the loss of the next token") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const TargetsResult result = check_targets(shifted(1, masked, dtype), text(), vocabulary);
    INFO(result.report());
    REQUIRE(result.passed);
    REQUIRE(result.positions == context);
    REQUIRE(result.report().find("check_targets: passed, at 6 positions") == 0);
  }
  REQUIRE(check_targets(shifted(1, masked), text(), vocabulary, {.max_positions = 2}).positions == 2);
}

TEST_CASE("check_targets finds targets that are the inputs") {
  const TargetsResult result = check_targets(shifted(0, masked), text(), vocabulary);
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.unheard == context);
  REQUIRE(result.ahead == 0);
  REQUIRE(result.first == 0);
  REQUIRE(result.report().find("the loss does not change with the next token") != std::string::npos);
}

TEST_CASE("check_targets finds targets shifted by two") {
  const TargetsResult result = check_targets(shifted(2, masked), text(), vocabulary);
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.ahead == context - 1);    // the last target is at the end of the text,
  REQUIRE(result.unheard == context - 1);  // where a shift by one is right
  REQUIRE(result.report().find("the loss hears tokens behind the next one") != std::string::npos);
}

TEST_CASE("check_targets finds a model without its mask by the sum of its probabilities") {
  const TargetsResult result = check_targets(shifted(1, unmasked), text(), vocabulary);
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.unheard == 0);
  REQUIRE(result.improper == context - 1);  // the last input has no neighbour to look at
  REQUIRE(result.ahead == context - 2);
  REQUIRE(result.report().find("the prediction hears its target") != std::string::npos);
}

TEST_CASE(
    "check_targets says that a smoothed loss is no probability, and that a restless one proves nothing") {
  const TargetsResult smoothed = check_targets(shifted(1, masked, DType::f64, 0.1), text(), vocabulary);
  REQUIRE(smoothed.improper == context);
  REQUIRE(smoothed.ahead == 0);
  Generator draws(3);
  const TokenLosses restless = [&](const Tensor& tokens) {
    return dropout(ones({tokens.size(0), context}), 0.5, draws);
  };
  const TargetsResult result = check_targets(restless, text(), vocabulary);
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.report().find(
              "check_targets: nothing proven; two calls with the same tokens differ: losses 0") == 0);
}

TEST_CASE("the result of check_targets as JSON") {
  const auto json = nlohmann::json::parse(check_targets(shifted(0, masked), text(), vocabulary).to_json());
  REQUIRE(json["check"] == "check_targets");
  REQUIRE(json["passed"] == false);
  REQUIRE(json["unheard"] == context);
}

TEST_CASE("check_targets refuses what it cannot check") {
  const TokenLosses right = shifted(1, masked);
  REQUIRE_THROWS_WITH(check_targets(right, text(), 1),
                      "check_targets: bad vocab_size, vocab_size is 1; expected at least 2");
  REQUIRE_THROWS_AS(check_targets(right, text(), vocabulary, {.max_positions = 0}), ValueError);
  REQUIRE_THROWS_AS(check_targets(right, text(), 2), IndexError);
  REQUIRE_THROWS_AS(check_targets(right, ones({1, 4}), vocabulary), DTypeError);
  REQUIRE_THROWS_AS(check_targets(right, ones({4}, DType::i64), vocabulary), ShapeError);
  const TokenLosses summed = [](const Tensor& tokens) { return zeros({tokens.size(0)}); };
  REQUIRE_THROWS_WITH(
      check_targets(summed, text(), vocabulary),
      "check_targets: losses has the wrong shape, losses is [1]; expected [1, 6], one loss for each "
      "token but the first");
}
