#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/core/checkpoint.h>
#include <heed/core/fusion.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/concat.h>
#include <heed/ops/embedding.h>
#include <heed/ops/matmul.h>
#include <heed/ops/pad.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>

#include "zoo.h"

// Verdicts that were wrong once.

using namespace heed;
using namespace heed::test::zoo;
using check::check_batch_isolation;
using check::check_causal;
using check::check_padding;
using check::IsolationFinding;
using check::IsolationResult;
using check::IsolationWay;

TEST_CASE("composite and textbook attention keep the bits of rows that a planted NaN does not reach",
          "[fault-1]") {
  Generator generator(1);
  const auto m = attention_module();
  const auto grouped = attention_module({.num_heads = 4, .num_kv_heads = 2});
  const auto block = std::make_shared<nn::TransformerBlock>(
      nn::TransformerBlockOptions{.attention = {.embed_dim = width, .num_heads = 2}}, generator);
  block->to(DType::f64);
  const AttentionMask causal = AttentionMask::causal();
  const Tensor cap = tensor({2.0});
  const auto unfused = [](const auto& run) {
    return [=](const Tensor& x) {
      const NoFusion guard;
      return run(x);
    };
  };
  const check::SequenceModel models[] = {
      [](const Tensor& x) { return scaled_dot_product_attention(x, x, x, lower_triangle(x.size(1))).output; },
      [=](const Tensor& x) {
        const Tensor one_head = unsqueeze(x, 1);
        const AttentionOptions options{.mask = causal, .learned_softcap = cap};
        return squeeze(attention(one_head, one_head, one_head, options).output, 1);
      },
      unfused([=](const Tensor& x) { return (*m)(x, causal); }),
      unfused([=](const Tensor& x) { return (*grouped)(x, causal); }),
      unfused([=](const Tensor& x) { return (*block)(x, causal); }),
  };
  for (const std::int64_t length : {6, 11, 150}) {
    const Tensor x = randn({2, length, width}, generator, DType::f64);
    for (const check::SequenceModel& model : models) {
      const IsolationResult result = check_causal(model, x, {.max_questions = 10});
      INFO(length << "\n" << result.report());
      CHECK(result.finding == IsolationFinding::nothing);
      CHECK(check_batch_isolation(model, x).finding == IsolationFinding::nothing);
    }
  }
}

TEST_CASE("tokens embedded time-major or flipped get the verdict of the batch-major model", "[fault-2]") {
  const auto m = attention_module();
  const Tensor table = parameter(vocabulary, width);
  for (const bool leaks : {false, true}) {
    const AttentionMask mask = leaks ? AttentionMask() : AttentionMask::causal();
    const auto batch_major = [=](const Tensor& x) { return (*m)(embedding(table, x), mask); };
    const auto time_major = [=](const Tensor& x) {
      return (*m)(transpose(embedding(table, transpose(x)), 0, 1), mask);
    };
    const auto flipped = [=](const Tensor& x) {
      return (*m)(flip(embedding(table, flip(x, {1})), {1}), mask);
    };
    const IsolationResult expected = check_causal(batch_major, tokens());
    REQUIRE(expected.passed == !leaks);
    for (const check::SequenceModel& model :
         {check::SequenceModel(time_major), check::SequenceModel(flipped)}) {
      const IsolationResult result = check_causal(model, tokens());
      INFO(result.report());
      CHECK(result.to_json() == expected.to_json());
      CHECK(check_batch_isolation(model, tokens()).passed);
    }
  }
}

TEST_CASE("honest mixing by a lower triangle passes with a warning", "[fault-3]") {
  const Tensor mixing = tril(parameter(positions, positions));
  const auto model = [=](const Tensor& x) { return matmul(mixing, x); };
  const IsolationResult result = check_causal(model, sequence());
  INFO(result.report());
  CHECK(result.passed);
  CHECK(result.warned());
  CHECK(result.finding == IsolationFinding::weight_zero);
  CHECK(result.report().find("check_causal: passed with a warning") == 0);
  const auto json = nlohmann::json::parse(result.to_json());
  CHECK(json["passed"] == true);
  CHECK(json["warned"] == true);
  CHECK(json["finding"] == "only a value that is not finite is heard");
  CHECK(json["leak"]["op"] == "matmul");
  CHECK_FALSE(check_causal(model, sequence(), {.poison_proof = true}).passed);
}

TEST_CASE("one output row of three hundred that hears the next token is found", "[fault-4]") {
  Generator generator(1);
  const Tensor x = randn({1, 300, 4}, generator, DType::f64);
  const auto model = [](const Tensor& z) { return z + pad(narrow(z, 1, 158, 1), {0, 157, 0}, {0, 142, 0}); };
  const IsolationResult result = check_causal(model, x);
  INFO(result.report());
  CHECK_FALSE(result.passed);
  CHECK(result.possible == 299);
  CHECK(result.by(IsolationWay::gradient).asked == 299);
  CHECK(result.by(IsolationWay::gradient).leaks == 1);
  CHECK(result.by(IsolationWay::replacement).asked == 64);
  CHECK(result.to.position == 157);
  CHECK(result.from.position == 158);
  CHECK(result.op == "narrow");
}

TEST_CASE("the headline says which share of the questions was asked", "[fault-4]") {
  Generator generator(1);
  const auto share_of = [](const Tensor& x) {
    const std::string report = check_causal([](const Tensor& z) { return z * 2.0; }, x).report();
    return report.substr(0, report.find('\n'));
  };
  CHECK(share_of(randn({1, 257, 1}, generator)) == "check_causal: passed, no output hears a later position");
  CHECK(share_of(randn({1, 258, 1}, generator)) ==
        "check_causal: passed, no output hears a later position; 64 by planted NaN and 64 by random "
        "replacement "
        "of 257 questions were asked");
}

TEST_CASE("a leak inside a checkpoint is named by its own operation", "[fault-6]") {
  const auto m = attention_module();
  const auto model = [=](const Tensor& x) {
    return checkpoint([=](const Tensor& z) { return z + (*m)(z); }, x);
  };
  const IsolationResult result = check_causal(model, sequence());
  INFO(result.report());
  CHECK_FALSE(result.passed);
  CHECK(result.op == "attention");
  CHECK(result.scope == "MultiHeadAttention");
}

TEST_CASE("check_padding reports tokens within their length that hear nothing", "[fault-45]") {
  Generator generator(1);
  const Tensor x = randn({2, 2, 4, 8}, generator, DType::f64);
  const Tensor lengths = tensor<std::int64_t>({2, 4});
  const AttentionMask keys = AttentionMask::causal() & AttentionMask::key_lengths(lengths);
  const auto attend = [](const Tensor& z, const AttentionMask& mask) {
    return attention(z, z, z, {.mask = mask}).output;
  };
  const AttentionMask shifted = keys.query_start(lengths - 4);  // as for a cache
  const auto bare = [=](const Tensor& z) { return attend(z, shifted); };
  const IsolationResult result = check_padding(bare, x, lengths, {.time_axis = 2});
  INFO(result.report());
  CHECK_FALSE(result.passed);
  CHECK(result.finding == IsolationFinding::nothing);
  CHECK(result.dead_rows == 2);
  CHECK(result.dead.sample == 0);
  CHECK(result.dead.position == 0);
  CHECK(result.report().find("check_padding: failed, rows within their length hear nothing") == 0);
  CHECK(nlohmann::json::parse(result.to_json())["dead_rows"]["count"] == 2);

  // Beside a residual branch the rows of y hear something, and the queries of attention do not.
  const auto residual = [=](const Tensor& z) { return z + attend(z * 2.0, shifted); };
  const IsolationResult inside = check_padding(residual, x, lengths, {.time_axis = 2});
  INFO(inside.report());
  CHECK_FALSE(inside.passed);
  CHECK(inside.dead_rows == 4);  // of two heads
  CHECK(inside.dead_op == "attention");

  const AttentionMask right = keys.query_start(0);
  CHECK(
      check_padding([=](const Tensor& z) { return z + attend(z * 2.0, right); }, x, lengths, {.time_axis = 2})
          .passed);
}
