#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/eval_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/optim/clip.h>
#include <heed/train/report/measure.h>

using namespace heed;

namespace {

// Weights large enough that heads differ and some rows saturate.
nn::CausalLM sharp_model() {
  Generator random(3);
  nn::CausalLM model(
      {.vocab_size = 9, .context = 8, .num_layers = 2, .num_heads = 2, .embed_dim = 8, .dropout = 0.5},
      random);
  for (auto& block : model.blocks) {
    Tensor weight = block.attention.qkv.weight.detach();
    weight.copy_(randn(weight.shape(), random, DType::f32));
  }
  return model;
}

Tensor token_tensor(const std::vector<std::int64_t>& tokens, const Shape& shape) {
  return from_span(std::span(tokens), shape);
}

// The mean over all rows but the first of each sample: x [B, H, T] → of head h.
double mean_of(const Tensor& x, std::int64_t head) {
  return static_cast<double>(mean(narrow(select(x, 1, head), 1, 1, x.size(2) - 1)).item<float>());
}

}  // namespace

TEST_CASE("statistics of heads are those of attention, as it is and undivided") {
  nn::CausalLM model = sharp_model();
  const nn::EvalMode mode(model);
  const NoGrad guard;
  const Tensor tokens = token_tensor({1, 2, 3, 4, 5, 6, 7, 8, 8, 1, 0, 2, 2, 2, 5, 3}, {2, 8});
  const train::report::HeadStatistics statistics = train::report::measure_heads(model, tokens);
  REQUIRE(statistics.entropy.size() == 4);
  // The first layer's heads anew, from their queries and keys.
  const auto& block = model.blocks[0];
  const Tensor x = block.norm1(model.token(tokens) + (*model.position)(arange(0, 8)));
  const auto [q, k, v] = block.attention.qkv(x, x, x);
  const auto heads = [](const Tensor& t) { return transpose(reshape(t, {2, 8, 2, 4}), 1, 2); };
  bool sharp = false;
  for (const auto& [scale, entropy, saturation] :
       {std::tuple(0.5, statistics.entropy, statistics.saturation),
        std::tuple(1.0, statistics.undivided_entropy, statistics.undivided_saturation)}) {
    const AttentionResult expected = attention(
        heads(q), heads(k), heads(v),
        {.mask = AttentionMask::causal(), .scale = scale, .need_weights = true, .need_statistics = true});
    for (std::int64_t head = 0; head < 2; ++head) {
      const auto at = static_cast<std::size_t>(head);
      // Powers of float weights: their relative rounding of 1e-7 is doubled, and entropy is of order 1.
      CHECK(entropy[at] == Approx(mean_of(expected.entropy, head)).margin(1e-5));
      // `saturated` counts the first rows, which are.
      const auto all = static_cast<double>(mean(select(expected.saturated, 1, head)).item<float>());
      CHECK(saturation[at] == Approx((all * 8 - 1) / 7).margin(1e-6));
      sharp = sharp || saturation[at] > 0;
    }
  }
  CHECK(sharp);
  CHECK(statistics.undivided_entropy[0] < statistics.entropy[0]);
  CHECK_THROWS_AS(train::report::measure_heads(model, token_tensor({1}, {1})), ValueError);
  CHECK(train::report::even_entropy(3) == Approx((std::log(2.0) + std::log(3.0)) / 2));
  CHECK(train::report::even_entropy(1) == 0);
}

TEST_CASE("statistics of packed rows are those of their documents") {
  nn::CausalLM model = sharp_model();
  const nn::EvalMode mode(model);
  const NoGrad guard;
  const Tensor packed = token_tensor({1, 2, 3, 4, 5, 6, 7, 8}, {1, 8});
  const Tensor documents = token_tensor({0, 0, 0, 1, 2, 2, 2, 2}, {1, 8});
  const train::report::HeadStatistics together = train::report::measure_heads(model, packed, documents);
  // 2 and 3 rows that look at more than one token; the document of one token has none.
  const train::report::HeadStatistics first =
      train::report::measure_heads(model, token_tensor({1, 2, 3}, {3}));
  const train::report::HeadStatistics last =
      train::report::measure_heads(model, token_tensor({5, 6, 7, 8}, {4}));
  for (const auto list : {&train::report::HeadStatistics::entropy, &train::report::HeadStatistics::saturation,
                          &train::report::HeadStatistics::undivided_entropy,
                          &train::report::HeadStatistics::undivided_saturation}) {
    REQUIRE((together.*list).size() == 4);
    for (std::size_t head = 0; head < 4; ++head) {
      // Weights of float, to rounding.
      CHECK((together.*list)[head] ==
            Approx((2 * (first.*list)[head] + 3 * (last.*list)[head]) / 5).margin(1e-5));
    }
  }
  CHECK(train::report::even_entropy(documents) ==
        Approx((std::log(2.0) + std::log(3.0) + std::log(2.0) + std::log(3.0) + std::log(4.0)) / 5));
  CHECK(train::report::even_entropy(token_tensor({0, 1, 2}, {3})) == 0);
  CHECK_THROWS_AS(train::report::measure_heads(model, packed, token_tensor({0, 0, 0}, {3})), ShapeError);
}

TEST_CASE("gradient norms come by part and add up to the norm of all") {
  nn::CausalLM model = sharp_model();
  const nn::EvalMode mode(model);
  const Tensor tokens = token_tensor({1, 2, 3, 4}, {4});
  backward(model.loss(tokens, tokens));
  const auto parameters = model.named_parameters();
  const auto norms = train::report::gradient_norms(parameters);
  std::vector<std::string> names;
  double squares = 0;
  for (const auto& [name, norm] : norms) {
    names.push_back(name);
    squares += norm * norm;
  }
  CHECK(names == std::vector<std::string>{"token", "position", "blocks.0", "blocks.1", "norm"});
  CHECK(std::sqrt(squares) == Approx(optim::clip_grad_norm(parameters, 1e30)).epsilon(1e-12));
}
