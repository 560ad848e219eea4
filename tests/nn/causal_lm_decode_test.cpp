// Decoding with caches against the whole forward, past the context too.

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/ops/cast.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/slice.h>

#include "../support/same_bits.h"

using Catch::Contains;
using heed::DType;
using heed::Generator;
using heed::NoGrad;
using heed::Tensor;
using heed::nn::CausalLM;
using heed::nn::CausalLMOptions;
using heed::nn::KVCache;

namespace {

using Tokens = std::vector<std::int64_t>;
constexpr std::int64_t context = 16;
constexpr std::int64_t vocabulary = 11;

constexpr CausalLMOptions gpt_options = {
    .vocab_size = vocabulary, .context = context, .num_layers = 2, .num_heads = 2, .embed_dim = 8};
constexpr CausalLMOptions llama_options = {.vocab_size = vocabulary,
                                           .context = context,
                                           .num_layers = 2,
                                           .num_heads = 4,
                                           .embed_dim = 16,
                                           .bias = false,
                                           .num_kv_heads = 2,
                                           .hidden_dim = 24,
                                           .rope = heed::RopeOptions{},
                                           .activation = heed::nn::Activation::silu,
                                           .gated = true,
                                           .norm = heed::nn::NormKind::rms,
                                           .norm_epsilon = 1e-6,
                                           .tied = false};

// In evaluation, with weights wide enough that the logits differ.
CausalLM model_of(DType dtype, const CausalLMOptions& options = gpt_options) {
  Generator generator(1);
  CausalLM model(options, generator);
  model.to(dtype);
  model.eval();
  const NoGrad guard;
  for (auto& [path, parameter] : model.named_parameters()) {
    if (parameter.rank() == 2) parameter.copy_(heed::randn(parameter.shape(), generator, dtype, 0.0, 0.3));
  }
  return model;
}

Tensor row_of(const Tokens& tokens) {
  return heed::from_span<std::int64_t>(tokens, {1, static_cast<std::int64_t>(tokens.size())});
}

using Logits = std::vector<double>;

Logits last_logits(const Tensor& logits) {
  return heed::cast(heed::select(heed::select(logits, 0, 0), 0, -1), DType::f64).to_vector<double>();
}

std::int64_t largest(const Logits& logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

// The tokens that the model sees: the last `context` ones.
Tokens window(const Tokens& tokens) {
  const std::size_t kept = std::min(tokens.size(), static_cast<std::size_t>(context));
  return Tokens(tokens.end() - static_cast<std::ptrdiff_t>(kept), tokens.end());
}

struct Text {
  Tokens tokens;
  std::vector<Logits> logits;
};

Text greedy(const CausalLM& model, Tokens tokens, int count) {
  Text text;
  for (int i = 0; i < count; ++i) {
    text.logits.push_back(last_logits(model(row_of(window(tokens)))));
    tokens.push_back(largest(text.logits.back()));
  }
  text.tokens = tokens;
  return text;
}

// The same with caches; a full context slides by a reset.
Text greedy_cached(const CausalLM& model, std::vector<KVCache>& caches, Tokens tokens, int count) {
  Text text;
  for (KVCache& cache : caches) cache.reset();
  Tokens next = window(tokens);
  for (int i = 0; i < count; ++i) {
    text.logits.push_back(last_logits(model.decode(row_of(next), caches)));
    tokens.push_back(largest(text.logits.back()));
    next = {tokens.back()};
    if (caches[0].longest() < context) continue;
    for (KVCache& cache : caches) cache.reset();
    next = window(tokens);
  }
  text.tokens = tokens;
  return text;
}

Tokens prompt_of(std::size_t length) {
  Tokens tokens;
  for (std::size_t i = 0; i < length; ++i)
    tokens.push_back(static_cast<std::int64_t>((3 * i + i * i) % vocabulary));
  return tokens;
}

}  // namespace

TEST_CASE("greedy text is the same with and without caches, past the context too", "[report-47][report-48]") {
  const NoGrad guard;
  for (const auto& [dtype, options] : {std::pair(DType::f32, gpt_options),
                                       {DType::f64, gpt_options},
                                       {DType::f32, llama_options},
                                       {DType::f64, llama_options}}) {
    const CausalLM model = model_of(dtype, options);
    std::vector<KVCache> caches = model.make_caches(1);
    const double bound = dtype == DType::f64 ? 1e-12 : 1e-5;  // requirement 47
    for (const std::size_t length : {1, 7, 15, 16, 17, 100}) {
      CAPTURE(options.tied, length);
      const Text plain = greedy(model, prompt_of(length), 50);
      const Text cached = greedy_cached(model, caches, prompt_of(length), 50);
      CHECK(cached.tokens == plain.tokens);
      double worst = 0;
      for (std::size_t i = 0; i < plain.logits.size(); ++i) {
        for (std::size_t c = 0; c < plain.logits[i].size(); ++c) {
          worst = std::max(worst, std::abs(plain.logits[i][c] - cached.logits[i][c]));
        }
      }
      CHECK(worst <= bound);
    }
  }
}

TEST_CASE("prompts of unequal lengths decode side by side", "[report-47]") {
  const NoGrad guard;
  const CausalLM model = model_of(DType::f64);
  std::vector<KVCache> caches = model.make_caches(2);
  // 3 and 5 tokens, the shorter one filled up; then one more token each.
  const Tensor prompts = heed::tensor<std::int64_t>({1, 2, 3, 0, 0, 4, 5, 6, 7, 8}, {2, 5});
  const Tokens counts = {3, 5};
  model.decode(prompts, caches, counts);
  const Tensor logits = model.decode(heed::tensor<std::int64_t>({9, 10}, {2, 1}), caches);
  const std::vector<Tokens> alone = {{1, 2, 3, 9}, {4, 5, 6, 7, 8, 10}};
  for (std::int64_t b = 0; b < 2; ++b) {
    const Logits want = last_logits(model(row_of(alone[static_cast<std::size_t>(b)])));
    const Logits got = last_logits(heed::narrow(logits, 0, b, 1));
    for (std::size_t c = 0; c < want.size(); ++c) CHECK(got[c] == Approx(want[c]).epsilon(0).margin(1e-12));
  }
  for (const KVCache& cache : caches) CHECK(cache.lengths() == Tokens{4, 6});
}

TEST_CASE("filling beyond the context is no position's business", "[report-48]") {
  const NoGrad guard;
  const CausalLM model = model_of(DType::f64);
  std::vector<KVCache> caches = model.make_caches(2);
  const auto zeros = [](std::int64_t tokens) { return heed::zeros({2, tokens}, DType::i64); };
  model.decode(zeros(15), caches);
  // Sample 0 takes one token of three, sample 1 none.
  CHECK_NOTHROW(model.decode(zeros(3), caches, Tokens{1, 0}));
  CHECK(caches[1].lengths() == Tokens{16, 15});
  CHECK_THROWS_WITH(model.decode(zeros(1), caches),
                    Contains("KVCache: full, sample 0 keeps 16 tokens") && Contains("at most 16 in all"));
  for (const KVCache& cache : caches) CHECK(cache.lengths() == Tokens{16, 15});
}

TEST_CASE("decoding of a model refuses what does not fit") {
  CausalLM model = model_of(DType::f64);
  std::vector<KVCache> caches = model.make_caches(1);
  CHECK_THROWS_AS(model.decode(row_of({1, 2}), caches), heed::GradError);
  const NoGrad guard;
  CHECK_THROWS_AS(model.decode(row_of({1, vocabulary}), caches), heed::IndexError);
  CHECK_THROWS_AS(model.decode(heed::tensor<std::int64_t>({1}), caches), heed::ShapeError);
  CHECK_THROWS_AS(model.decode(heed::ones({1, 1}), caches), heed::DTypeError);
  CHECK_THROWS_WITH(model.decode(heed::zeros({2, 1}, DType::i64), caches),
                    Contains("number of sequences is 2"));
  std::vector<KVCache> few = model.make_caches(1);
  few.pop_back();
  CHECK_THROWS_WITH(model.decode(row_of({1}), few),
                    Contains("number of caches is 1") && Contains("2, one for each"));
  model.train();
  CHECK_THROWS_WITH(model.decode(row_of({1}), caches), Contains("training mode"));
  for (const KVCache& cache : caches) CHECK(cache.longest() == 0);
}

TEST_CASE("decoding in steps of any length gives the bits of the whole pass", "[bits]") {
  if (heed::kernels::products_use_blas()) {
    WARN("skipped: BLAS multiplies, which does not promise it");
    return;
  }
  const auto dtype = GENERATE(DType::f32, DType::f64);
  CausalLMOptions options = GENERATE(gpt_options, llama_options);
  options.context = 150;  // more than two tiles of keys
  const CausalLM model = model_of(dtype, options);
  const NoGrad guard;
  Generator generator(3);
  const Tensor tokens = heed::randint(0, vocabulary, {2, options.context}, generator);
  const Tensor whole = model(tokens);
  for (const std::int64_t step : {1, 2, 17, 64}) {
    CAPTURE(step);
    std::vector<KVCache> caches = model.make_caches(2);
    for (std::int64_t begin = 0; begin < options.context; begin += step) {
      CAPTURE(begin);
      const std::int64_t end = std::min(begin + step, options.context);
      const Tensor logits = model.decode(heed::slice(tokens, 1, begin, end), caches);
      REQUIRE(heed::test::same_bits(logits, heed::slice(whole, 1, begin, end)));
    }
  }
}
