#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/isolation.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/core/scope.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/transformer_block.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/concat.h>
#include <heed/ops/matmul.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

using namespace heed;
using check::check_batch_isolation;
using check::check_causal;
using check::check_documents;
using check::check_padding;
using check::IsolationResult;
using check::IsolationWay;
using check::SequenceModel;

namespace {

constexpr std::int64_t width = 8;

// [2, 6, 8], or another number of positions.
Tensor sequence(std::int64_t positions = 6, DType dtype = DType::f64) {
  Generator generator(5);
  return randn({2, positions, width}, generator, dtype);
}

Tensor tokens() {
  Generator generator(6);
  return randint(0, 11, {2, 6}, generator);
}

nn::MultiHeadAttention module(double dropout = 0) {
  Generator generator(1);
  nn::MultiHeadAttention m({.embed_dim = width, .num_heads = 2, .dropout = dropout}, generator);
  m.to(DType::f64);
  return m;
}

nn::CausalLM language_model(double dropout) {
  Generator generator(1);
  return nn::CausalLM({.vocab_size = 11,
                       .context = 8,
                       .num_layers = 2,
                       .num_heads = 2,
                       .embed_dim = width,
                       .dropout = dropout},
                      generator);
}

SequenceModel attend(AttentionMask mask) {
  return [m = std::make_shared<nn::MultiHeadAttention>(module()), mask = std::move(mask)](const Tensor& x) {
    return (*m)(x, mask);
  };
}

// Bare heads: [2, 2, 6, 4] in and out.
Tensor heads() {
  Generator generator(7);
  return randn({2, 2, 6, 4}, generator, DType::f64);
}

void require_pass(const IsolationResult& result) {
  INFO(result.report());
  REQUIRE(result.passed);
  REQUIRE(result.op.empty());
}

// All three ways see it, and the tape names the operation.
void require_leak(const IsolationResult& result, const std::string& op) {
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.problem.empty());
  for (const auto& evidence : result.evidence) REQUIRE(evidence.leaks > 0);
  REQUIRE(result.op == op);
}

}  // namespace

TEST_CASE("check_causal passes attention whose masks close the future") {
  require_pass(check_causal(attend(AttentionMask::causal()), sequence()));
  require_pass(check_causal(attend(AttentionMask::window(2, 0)), sequence()));
  for (const DType dtype : {DType::f32, DType::f64}) {
    const SequenceModel bare = [](const Tensor& x) {
      return attention(x, x, x, {.mask = AttentionMask::causal()}).output;
    };
    Generator generator(7);
    require_pass(check_causal(bare, randn({2, 2, 6, 4}, generator, dtype), {.time_axis = 2}));
  }
}

TEST_CASE("check_causal passes beyond one block of attention, and asks a sample of the cuts") {
  const SequenceModel bare = [](const Tensor& x) {
    return attention(x, x, x, {.mask = AttentionMask::causal()}).output;
  };
  Generator generator(7);
  const IsolationResult result =
      check_causal(bare, randn({1, 1, 200, 4}, generator), {.time_axis = 2, .max_questions = 9});
  require_pass(result);
  REQUIRE(result.possible == 199);
  for (const auto& evidence : result.evidence) REQUIRE(evidence.asked == 9);
  REQUIRE(result.report().find("9 of 199 questions were asked") != std::string::npos);
}

TEST_CASE("check_causal passes a block and a language model, with and without dropout") {
  Generator generator(1);
  nn::TransformerBlock block(
      {.attention = {.embed_dim = width, .num_heads = 2, .dropout = 0.3}, .dropout = 0.3}, generator);
  const SequenceModel of_block = [&](const Tensor& x) {
    Generator draws(3);
    return block(x, AttentionMask::causal(), &draws);
  };
  require_pass(check_causal(of_block, sequence(6, DType::f32)));
  nn::CausalLM model = language_model(0.3);
  const SequenceModel of_tokens = [&](const Tensor& x) {
    Generator draws(3);
    return model(x, &draws);
  };
  for (const bool training : {true, false}) {
    model.train(training);
    const IsolationResult result = check_causal(of_tokens, tokens());
    require_pass(result);
    REQUIRE(result.by(IsolationWay::planted_nan).not_asked == "token ids cannot be NaN");
    REQUIRE(result.by(IsolationWay::gradient).asked == 5);
    REQUIRE(result.by(IsolationWay::replacement).asked == 5);
    require_pass(check_batch_isolation(of_tokens, tokens()));
  }
}

TEST_CASE("check_causal finds a forgotten mask, the pair and the attention that reads it") {
  const IsolationResult result = check_causal(attend({}), sequence());
  require_leak(result, "attention");
  REQUIRE(result.scope == "MultiHeadAttention");
  REQUIRE(result.to.position == 0);
  REQUIRE(result.from.position == 1);
  REQUIRE(result.from.sample == 0);
  REQUIRE(
      result.report().find("check_causal: failed, the output at position 0 of sample 0 hears position 1 of "
                           "sample 0") == 0);
}

TEST_CASE("check_causal finds the second of two layers when it is the one without a mask") {
  const auto first = module();
  const auto second = module();
  const SequenceModel model = [&](const Tensor& x) {
    Tensor y = x;
    {
      const Scope scope("first");
      y = y + first(y, AttentionMask::causal());
    }
    const Scope scope("second");
    return y + second(y);
  };
  const IsolationResult result = check_causal(model, sequence());
  require_leak(result, "attention");
  REQUIRE(result.scope == "second.MultiHeadAttention");
}

TEST_CASE("check_causal finds a window and a position that are off by one") {
  const IsolationResult window = check_causal(attend(AttentionMask::window(2, 1)), sequence());
  require_leak(window, "attention");
  REQUIRE(window.to.position == 0);
  REQUIRE(window.from.position == 1);
  const SequenceModel start = [](const Tensor& x) {
    return attention(x, x, x, {.mask = AttentionMask::causal().query_start(1)}).output;
  };
  require_leak(check_causal(start, heads(), {.time_axis = 2}), "attention");
  const SequenceModel right = [](const Tensor& x) {
    return attention(x, x, x, {.mask = AttentionMask::causal().query_start(0)}).output;
  };
  require_pass(check_causal(right, heads(), {.time_axis = 2}));
}

TEST_CASE("check_causal finds a mask that is dropped when dropout is on") {
  nn::MultiHeadAttention m = module(0.2);
  const SequenceModel model = [&](const Tensor& x) {
    Generator draws(3);
    return m(x, m.training() ? AttentionMask() : AttentionMask::causal(), &draws);
  };
  m.eval();
  require_pass(check_causal(model, sequence()));
  m.train();
  require_leak(check_causal(model, sequence()), "attention");
}

TEST_CASE("check_causal finds a norm over the time axis, and names it before the attention behind it") {
  const auto attention_module = module();
  const SequenceModel model = [&](const Tensor& x) {
    const Tensor centered = x - mean(x, {1}, true);
    return attention_module(centered, AttentionMask::causal());
  };
  require_leak(check_causal(model, sequence()), "mean");
}

TEST_CASE("check_causal finds a sequence shifted by one") {
  const SequenceModel model = [](const Tensor& x) {
    return x + concat({slice(x, 1, 1), zeros({2, 1, width}, x.dtype())}, 1);
  };
  require_leak(check_causal(model, sequence()), "slice");
  const SequenceModel backwards = [](const Tensor& x) {
    return x + concat({zeros({2, 1, width}, x.dtype()), slice(x, 1, 0, -1)}, 1);
  };
  require_pass(check_causal(backwards, sequence()));
}

TEST_CASE("check_causal tells a weight of zero from a key that is not read") {
  // A large negative logit instead of a closed pair: 0 · NaN is NaN.
  const SequenceModel model = [](const Tensor& x) {
    Tensor bias = zeros({6, 6}, x.dtype());
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = i + 1; j < 6; ++j) bias.mutable_data<double>()[i * 6 + j] = -1e9;
    }
    return matmul(softmax(matmul(x, transpose(x)) + bias), x);
  };
  const IsolationResult result = check_causal(model, sequence());
  INFO(result.report());
  REQUIRE(result.passed);
  REQUIRE(result.warned());
  REQUIRE(result.finding == check::IsolationFinding::weight_zero);
  REQUIRE(result.by(IsolationWay::planted_nan).leaks == 5);
  REQUIRE(result.by(IsolationWay::gradient).leaks == 0);
  REQUIRE(result.by(IsolationWay::replacement).leaks == 0);
  REQUIRE(result.op == "softmax");
  REQUIRE(
      result.report().find("check_causal: passed with a warning, the output at position 0 of sample 0 reads "
                           "position 1 of sample 0 with weight zero: causal, not poison-proof") == 0);
  const IsolationResult strict = check_causal(model, sequence(), {.poison_proof = true});
  REQUIRE_FALSE(strict.passed);
  REQUIRE_FALSE(strict.warned());
  REQUIRE(strict.report().find("check_causal: failed, the output at position 0 of sample 0 reads ") == 0);
}

TEST_CASE("check_causal finds a leak that has no gradient") {
  const SequenceModel model = [](const Tensor& x) { return x + sum(x.detach(), {1}, true); };
  const IsolationResult result = check_causal(model, sequence());
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.by(IsolationWay::gradient).leaks == 0);
  REQUIRE(result.by(IsolationWay::replacement).leaks == 5);
  REQUIRE(result.finding == check::IsolationFinding::value);
  REQUIRE(result.op == "add");  // the sum itself is not on the tape
  REQUIRE(result.report().find("the first operation that has heard of it on its way there: add") !=
          std::string::npos);
}

TEST_CASE("check_causal finds the leak of a language model in its block") {
  nn::CausalLM model = language_model(0);
  const SequenceModel leaking = [&](const Tensor& x) {
    Tensor y = model.token(x);
    for (const nn::TransformerBlock& block : model.blocks) y = block(y);
    return y;
  };
  const IsolationResult result = check_causal(leaking, tokens());
  INFO(result.report());
  REQUIRE_FALSE(result.passed);
  REQUIRE(result.by(IsolationWay::gradient).leaks == 5);
  REQUIRE(result.by(IsolationWay::replacement).leaks == 5);
  REQUIRE(result.op == "attention");
  REQUIRE(result.scope == "blocks.0.attention");
}

TEST_CASE("check_batch_isolation passes attention and finds a norm over the batch") {
  require_pass(check_batch_isolation(attend({}), sequence()));
  const auto m = module();
  const SequenceModel model = [&](const Tensor& x) {
    const Tensor centered = x - mean(x, {0}, true);
    return m(centered, AttentionMask::causal());
  };
  const IsolationResult result = check_batch_isolation(model, sequence());
  require_leak(result, "mean");
  REQUIRE(result.from.sample == 0);
  REQUIRE(result.to.sample == 1);
}

TEST_CASE("check_padding passes key lengths and finds attention that reads the padding") {
  const Tensor lengths = tensor<std::int64_t>({3, 6});
  require_pass(check_padding(attend(AttentionMask::key_lengths(lengths)), sequence(), lengths));
  const IsolationResult result = check_padding(attend({}), sequence(), lengths);
  require_leak(result, "attention");
  REQUIRE(result.from.sample == 0);
  REQUIRE(result.from.position == 3);
  REQUIRE(result.to.sample == 0);
  const Tensor one_more = tensor<std::int64_t>({4, 6});
  require_leak(check_padding(attend(AttentionMask::key_lengths(one_more)), sequence(), lengths), "attention");
}

TEST_CASE("check_documents passes packed documents and finds their mask missing") {
  const Tensor packed = tensor<std::int64_t>({0, 0, 0, 1, 1, 2});
  const Tensor by_sample = tensor<std::int64_t>({0, 0, 0, 1, 1, 2, 0, 1, 1, 1, 1, 1}, {2, 6});
  for (const Tensor& ids : {packed, by_sample}) {
    const AttentionMask mask = AttentionMask::documents(ids);
    require_pass(check_documents(attend(mask), sequence(), ids));
    require_pass(check_documents(attend(mask & AttentionMask::causal()), sequence(), ids));
    require_leak(check_documents(attend(AttentionMask::causal()), sequence(), ids), "attention");
    require_leak(check_documents(attend({}), sequence(), ids), "attention");
  }
}

TEST_CASE("where nothing can be proven, the result says so and fails") {
  auto calls = std::make_shared<int>(0);
  const SequenceModel restless = [=](const Tensor& x) { return x * static_cast<double>(++*calls); };
  const IsolationResult random = check_causal(restless, sequence());
  REQUIRE_FALSE(random.passed);
  REQUIRE(random.report().find(
              "check_causal: nothing proven; two calls with the same x differ: output 0 at") == 0);
  const SequenceModel constant = [](const Tensor& x) { return zeros(x.shape(), x.dtype()); };
  REQUIRE(check_causal(constant, sequence()).report() ==
          "check_causal: nothing proven; the output does not depend on x at all, so no leak could be seen");
}

TEST_CASE("a model without a tape is checked in two ways") {
  const SequenceModel model = [](const Tensor& x) { return x.detach() * 2; };
  const IsolationResult result = check_causal(model, sequence());
  require_pass(result);
  REQUIRE(result.by(IsolationWay::gradient).not_asked == "the output has no history");
  REQUIRE(result.by(IsolationWay::gradient).asked == 0);
  REQUIRE(result.report().find("not asked: the output has no history") != std::string::npos);
}

TEST_CASE("provers leave the caller's tensors alone") {
  const auto m = module();
  Tensor x = sequence();
  x.set_requires_grad();
  const auto before = x.to_vector<double>();
  check_causal([&](const Tensor& z) { return m(z); }, x);
  REQUIRE(x.to_vector<double>() == before);
  REQUIRE_FALSE(x.grad().defined());
  for (const auto& [name, parameter] : m.named_parameters()) REQUIRE_FALSE(parameter.grad().defined());
}

TEST_CASE("the result of a prover as JSON") {
  const auto json = nlohmann::json::parse(check_causal(attend({}), sequence()).to_json());
  REQUIRE(json["check"] == "check_causal");
  REQUIRE(json["passed"] == false);
  REQUIRE(json["possible"] == 5);
  REQUIRE(json["evidence"].size() == 3);
  REQUIRE(json["evidence"][1]["way"] == "vector-Jacobian product");
  REQUIRE(json["evidence"][1]["leaks"] == 5);
  REQUIRE(json["leak"]["from"] == nlohmann::json({{"sample", 0}, {"position", 1}}));
  REQUIRE(json["leak"]["op"] == "attention");
  const auto tokens_json = nlohmann::json::parse(
      check_causal(
          [m = std::make_shared<nn::CausalLM>(language_model(0))](const Tensor& t) { return (*m)(t); },
          tokens())
          .to_json());
  REQUIRE(tokens_json["evidence"][0]["not_asked"] == "token ids cannot be NaN");
  REQUIRE_FALSE(tokens_json.contains("leak"));
}

TEST_CASE("provers refuse what they cannot check") {
  const SequenceModel identity = [](const Tensor& x) { return x * 1; };
  REQUIRE_THROWS_WITH(
      check_causal([](const Tensor& x) { return slice(x, 1, 1); }, sequence()),
      "check_causal: the model's output has other samples or positions than x, x is [2, 6, 8] and "
      "y is [2, 5, 8]; expected equal sizes of axes 0 and 1");
  REQUIRE_THROWS_AS(check_causal(identity, zeros({2, 3}, DType::boolean)), DTypeError);
  REQUIRE_THROWS_AS(check_causal(identity, zeros({2})), ShapeError);
  REQUIRE_THROWS_WITH(check_causal(identity, sequence(), {.time_axis = 0}),
                      "check_causal: bad time_axis, time_axis is 0; expected at least 0, and another axis "
                      "than that of the samples");
  REQUIRE_THROWS_WITH(check_causal(identity, sequence(1)),
                      "check_causal: bad positions of x, positions of x is 1; expected at least 2");
  REQUIRE_THROWS_WITH(check_causal(identity, zeros({1, 4}, DType::i64)),
                      "check_causal: bad largest token of x, largest token of x is 0; expected at least 1: "
                      "another one to replace by");
  REQUIRE_THROWS_WITH(check_causal(identity, sequence(), {.max_questions = 0}),
                      "check_causal: bad max_questions, max_questions is 0; expected at least 1");
  REQUIRE_THROWS_AS(check_batch_isolation(identity, slice(sequence(), 0, 0, 1)), ValueError);
  REQUIRE_THROWS_AS(check_padding(identity, sequence(), tensor<std::int64_t>({6, 6})), ValueError);
  REQUIRE_THROWS_AS(check_padding(identity, sequence(), tensor<std::int64_t>({6})), ShapeError);
  REQUIRE_THROWS_AS(check_padding(identity, sequence(), tensor({6.0, 3.0})), DTypeError);
  REQUIRE_THROWS_AS(check_documents(identity, sequence(), zeros({6}, DType::i64)), ValueError);
  REQUIRE_THROWS_AS(check_documents(identity, sequence(), zeros({5}, DType::i64)), ShapeError);
}
