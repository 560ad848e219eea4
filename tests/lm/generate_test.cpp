#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/lm/generate.h>
#include <heed/nn/clone.h>
#include <heed/ops/slice.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::lm::generate;
using Ids = std::vector<std::int64_t>;

namespace {

heed::nn::CausalLM small_model(std::int64_t context = 16) {
  Generator generator(1);
  heed::nn::CausalLM model(
      {.vocab_size = 11, .context = context, .num_layers = 1, .num_heads = 2, .embed_dim = 8}, generator);
  model.eval();
  return model;
}

// Text without a cache: the whole window through the model, each time. `least_gap` is by how much the
// likeliest token led at the closest call.
Ids without_cache(const heed::nn::CausalLM& model, Ids tokens, int count, double& least_gap) {
  const heed::NoGrad guard;
  const auto context = static_cast<std::size_t>(model.options().context);
  Ids made;
  for (int i = 0; i < count; ++i) {
    const auto window = std::span<const std::int64_t>(tokens).last(std::min(tokens.size(), context));
    const Tensor logits = model(heed::from_span(window, {static_cast<std::int64_t>(window.size())}));
    auto last = heed::select(logits, 0, -1).to_vector<float>();
    made.push_back(std::max_element(last.begin(), last.end()) - last.begin());
    tokens.push_back(made.back());
    std::nth_element(last.begin(), last.begin() + 1, last.end(), std::greater<>());
    least_gap = std::min(least_gap, static_cast<double>(last[0] - last[1]));
  }
  return made;
}

Ids counting(std::size_t length) {
  Ids tokens;
  for (std::size_t i = 0; i < length; ++i) tokens.push_back(static_cast<std::int64_t>(i % 11));
  return tokens;
}

}  // namespace

TEST_CASE("greedy text is the same with and without a cache, past the context too",
          "[report-47][report-48]") {
  const auto model = small_model(16);
  Generator generator(1);
  std::vector<Ids> prompts;
  std::vector<Ids> expected;
  double least_gap = 1;
  for (const std::size_t length : {1u, 7u, 15u, 16u, 17u, 100u}) {
    prompts.push_back(counting(length));
    expected.push_back(without_cache(model, prompts.back(), 50, least_gap));
    CAPTURE(length);
    CHECK(generate(model, prompts.back(), 50, {.temperature = 0}, generator) == expected.back());
  }
  REQUIRE(least_gap > 1e-5);  // the rounding of float32 logits near 0.1 decides no token
  CHECK(heed::lm::generate_batch(model, prompts, 50, {.temperature = 0}, generator) == expected);
}

TEST_CASE("a sample of a batch depends on its place and prompt, not on its neighbours") {
  const auto model = small_model(16);
  const auto text = [&](const std::vector<Ids>& prompts) {
    Generator generator(3);
    return heed::lm::generate_batch(model, prompts, 40, {}, generator);
  };
  const auto three = text({{1, 2}, {1, 2}, counting(20)});
  CHECK(three[0] != three[1]);
  CHECK(text({{1, 2}}).front() == three[0]);
  CHECK(text({counting(30), {1, 2}})[1] == three[1]);
}

TEST_CASE("on_token ends a sample") {
  const auto model = small_model(16);
  Generator generator(3);
  std::vector<int> calls(3);
  const auto made = heed::lm::generate_batch(model, {{1}, {2}, {3}}, 30, {}, generator,
                                             [&](std::size_t sample, std::int64_t) {
                                               ++calls[sample];
                                               return sample == 2 || calls[sample] < 5 + 15 * int(sample);
                                             });
  CHECK(calls == std::vector<int>{5, 20, 30});
  for (const std::size_t b : {0u, 1u, 2u}) CHECK(made[b].size() == static_cast<std::size_t>(calls[b]));
  Generator again(3);
  const auto whole = heed::lm::generate_batch(model, {{1}, {2}, {3}}, 30, {}, again);
  CHECK(whole[2] == made[2]);
  CHECK(std::equal(made[0].begin(), made[0].end(), whole[0].begin()));
}

TEST_CASE("generated text depends on the seed alone", "[report-36]") {
  const auto model = small_model();
  const Ids prompt = {1, 2};
  const auto text = [&](std::uint64_t seed) {
    Generator generator(seed);
    return generate(model, prompt, 30, {}, generator);
  };
  const int threads = heed::num_threads();
  const Ids first = text(3);
  for (const int count : {1, 2, 3}) {
    heed::set_num_threads(count);
    CHECK(text(3) == first);
  }
  heed::set_num_threads(threads);
  CHECK(text(4) != first);
  Ids streamed;
  Generator generator(3);
  generate(model, prompt, 30, {}, generator, [&](std::size_t, std::int64_t token) {
    streamed.push_back(token);
    return true;
  });
  CHECK(streamed == first);
}

TEST_CASE("generation refuses bad prompts") {
  const auto model = small_model();
  Generator generator(1);
  CHECK_THROWS_WITH(generate(model, {}, 1, {}, generator), Contains("the prompt is empty"));
  CHECK_THROWS_AS(generate(model, Ids{11}, 1, {}, generator), heed::IndexError);
  CHECK_THROWS_AS(generate(model, Ids{1}, -1, {}, generator), heed::ValueError);
  CHECK(generate(model, Ids{1}, 0, {}, generator).empty());
  CHECK_THROWS_WITH(heed::lm::generate_batch(model, {}, 1, {}, generator), Contains("no prompt"));
  CHECK_THROWS_WITH(heed::lm::generate_batch(model, {{1}, {}}, 1, {}, generator), Contains("is empty"));
  auto training = clone(model);
  training.train();
  CHECK_THROWS_WITH(generate(training, Ids{1}, 1, {}, generator), Contains("eval"));
}
