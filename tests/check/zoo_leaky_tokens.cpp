#include <heed/nn/torch_attention.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/embedding.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/gather.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/pad.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Models of tokens.
namespace heed::test::zoo {
namespace {

using check::IsolationFinding;

Leaky of_tokens(const char* name, check::SequenceModel model, const char* op, const char* scope = "",
                IsolationFinding finding = IsolationFinding::derivative, Prover prover = Prover::causal) {
  return {.name = name,
          .model = std::move(model),
          .op = op,
          .finding = finding,
          .prover = prover,
          .scope = scope,
          .x = tokens()};
}

}  // namespace

std::vector<Leaky> leaky_tokens() {
  const auto m = attention_module();
  const auto gpt = language_model();
  const Tensor table = parameter(vocabulary, width);
  std::vector<Leaky> models;
  models.push_back(of_tokens(
      "a language model without its mask",
      [=](const Tensor& x) {
        Tensor y = gpt->token(x);
        for (const nn::TransformerBlock& block : gpt->blocks) y = block(y);
        return linear(gpt->norm(y), gpt->token.weight);
      },
      "attention", "blocks.0.attention"));
  models.push_back(of_tokens(
      "the last block without its mask",
      [=](const Tensor& x) {
        const Tensor y = gpt->blocks[0](gpt->token(x), AttentionMask::causal());
        return gpt->blocks[1](y);
      },
      "attention", "blocks.1.attention"));
  models.push_back(of_tokens(
      "time-major, without a mask",
      [=](const Tensor& x) {
        const Tensor e = embedding(table, transpose(x));
        return transpose(nn::torch_attention(*m, e, e, e, {}).output, 0, 1);
      },
      "attention", "MultiHeadAttention"));
  models.push_back(of_tokens(
      "flipped, with the mask as it was",
      [=](const Tensor& x) {
        const Tensor e = embedding(table, flip(x, {1}));
        return flip((*m)(e, AttentionMask::causal()), {1});
      },
      "attention", "MultiHeadAttention"));
  models.push_back(of_tokens(
      "the next token's vector",
      [=](const Tensor& x) {
        return (*m)(embedding(table, x), AttentionMask::causal()) + earlier(embedding(table, x));
      },
      "slice"));
  models.push_back(of_tokens(
      "gathered vectors, without a mask", [=](const Tensor& x) { return (*m)(gathered_vectors(table, x)); },
      "attention", "MultiHeadAttention"));
  models.push_back(of_tokens(
      "a bag of words",
      [=](const Tensor& x) {
        const Tensor e = embedding(table, x);
        return e + sum(e, {1}, true);
      },
      "sum"));
  models.push_back(of_tokens(
      "one-hot vectors, counted",
      [=](const Tensor& x) {
        const Tensor ones = one_hot(x, vocabulary, DType::f64);
        return matmul(ones + sum(ones, {1}, true), table);
      },
      "matmul"));
  models.push_back(of_tokens(
      "a mask made from the next tokens",
      [=](const Tensor& x) {
        const Tensor next = pad(cast(gt(slice(x, 1, 1), 5), DType::f64), {0, 0}, {0, 1});
        return embedding(table, x) * unsqueeze(next + 1.0, -1);
      },
      "mul", "", IsolationFinding::value));
  models.push_back(of_tokens(
      "the largest token of the row",
      [=](const Tensor& x) {
        return embedding(table, x) * unsqueeze(cast(amax(x, {1}, true), DType::f64), -1);
      },
      "mul", "", IsolationFinding::value));
  models.push_back(of_tokens(
      "padding found in all samples",
      [=](const Tensor& x) {
        const Tensor e = embedding(table, x);
        return e * cast(sum(x), DType::f64);
      },
      "mul", "", IsolationFinding::value, Prover::batch));
  return models;
}

}  // namespace heed::test::zoo
