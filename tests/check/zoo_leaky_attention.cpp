#include <heed/core/checkpoint.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/core/scope.h>
#include <heed/nn/torch_attention.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Attention whose mask is missing, wrong, or turned round.
namespace heed::test::zoo {
namespace {

using check::IsolationFinding;
using check::SequenceModel;

SequenceModel attend(const AttentionMask& mask, const nn::MultiHeadAttentionOptions& options = {}) {
  return [m = attention_module(options), mask](const Tensor& x) { return (*m)(x, mask); };
}

SequenceModel bare(const AttentionOptions& options) {
  return [options](const Tensor& x) { return attention(x, x, x, options).output; };
}

Leaky bare_leak(const char* name, const AttentionOptions& options) {
  return {.name = name, .model = bare(options), .op = "attention", .x = heads(), .options = {.time_axis = 2}};
}

std::vector<Leaky> wrong_masks() {
  const AttentionMask causal = AttentionMask::causal();
  std::vector<Leaky> models;
  models.push_back({"a forgotten mask", attend({}), "attention"});
  models.push_back({"a window that is open by one", attend(AttentionMask::window(2, 1)), "attention"});
  models.push_back(
      {"a window of the module", attend({}, {.window_left = 2, .window_right = 2}), "attention"});
  models.push_back(bare_leak("positions that begin at one", {.mask = causal.query_start(1)}));
  models.push_back(
      bare_leak("a mask the wrong way round", {.mask = AttentionMask::ignore(lower_triangle(positions))}));
  models.push_back(
      bare_leak("an upper triangle", {.mask = AttentionMask::attend(transpose(lower_triangle(positions)))}));
  models.push_back(bare_leak("alibi alone", {.mask = AttentionMask::alibi(tensor({0.5, 0.1}))}));
  models.push_back(
      bare_leak("a bias that is not low enough",
                {.mask = AttentionMask::bias(
                     where(lower_triangle(positions), zeros({positions, positions}, DType::f64), -20.0))}));
  Tensor one_pair = lower_triangle(positions);
  one_pair.mutable_data<bool>()[2 * positions + 4] = true;
  models.push_back(bare_leak("one open pair", {.mask = AttentionMask::attend(one_pair)}));
  models.push_back({"a mask that a flip turns round",
                    [m = attention_module()](const Tensor& x) {
                      return flip((*m)(flip(x, {1}), AttentionMask::causal()), {1});
                    },
                    "attention"});
  models.push_back({.name = "time-major, not causal",
                    .model = [m = attention_module()](
                                 const Tensor& x) { return nn::torch_attention(*m, x, x, x, {}).output; },
                    .op = "attention",
                    .x = permute(sequence(), {1, 0, 2}),
                    .options = {.time_axis = 0, .batch_axis = 1}});
  models.push_back({"composite, without a mask",
                    [m = attention_module()](const Tensor& x) {
                      const NoFusion guard;
                      return (*m)(x);
                    },
                    "sub"});
  models.push_back({"softmax over the queries",
                    [](const Tensor& x) {
                      const Tensor scores = matmul(x, transpose(x));
                      const Tensor open = where(lower_triangle(positions), scores, -1e9);
                      return matmul(softmax(open, -2), x);
                    },
                    "softmax"});
  return models;
}

std::vector<Leaky> in_modules() {
  const auto m = attention_module();
  const auto second = attention_module();
  std::vector<Leaky> models;
  models.push_back({.name = "the second of two layers",
                    .model =
                        [=](const Tensor& x) {
                          const Tensor y = x + (*m)(x, AttentionMask::causal());
                          const Scope scope("second");
                          return y + (*second)(y);
                        },
                    .op = "attention",
                    .scope = "second.MultiHeadAttention"});
  models.push_back({.name = "the first of two layers",
                    .model =
                        [=](const Tensor& x) {
                          const Tensor y = x + (*m)(x);
                          const Scope scope("second");
                          return y + (*second)(y, AttentionMask::causal());
                        },
                    .op = "attention",
                    .scope = "MultiHeadAttention"});
  models.push_back(
      {.name = "inside a checkpoint",
       .model = [=](const Tensor& x) { return checkpoint([=](const Tensor& z) { return z + (*m)(z); }, x); },
       .op = "attention",
       .scope = "MultiHeadAttention"});
  models.push_back({.name = "inside a checkpoint, among honest layers",
                    .model =
                        [=](const Tensor& x) {
                          const Tensor y = x + (*m)(x, AttentionMask::causal());
                          const Tensor z = checkpoint(
                              [=](const Tensor& u) {
                                const Scope scope("inner");
                                return u + (*second)(dense(u));
                              },
                              y);
                          return (*m)(z, AttentionMask::causal());
                        },
                    .op = "attention",
                    .scope = "inner.MultiHeadAttention"});
  models.push_back(
      {"a mask that is dropped in training",
       [=](const Tensor& x) { return (*m)(x, m->training() ? AttentionMask() : AttentionMask::causal()); },
       "attention"});
  return models;
}

std::vector<Leaky> across_samples() {
  const auto m = attention_module();
  const Tensor one_more = tensor<std::int64_t>({4, 6});
  std::vector<Leaky> models;
  models.push_back({.name = "samples joined in one row",
                    .model =
                        [=](const Tensor& x) {
                          const Tensor row = reshape(x, {1, samples * positions, width});
                          return reshape((*m)(row), {samples, positions, width});
                        },
                    .op = "attention",
                    .prover = Prover::batch});
  models.push_back({.name = "samples for positions",
                    .model = [=](const Tensor& x) { return transpose((*m)(transpose(x, 0, 1)), 0, 1); },
                    .op = "attention",
                    .prover = Prover::batch});
  models.push_back(
      {.name = "padding without lengths", .model = attend({}), .op = "attention", .prover = Prover::padding});
  models.push_back({.name = "lengths one too large",
                    .model = attend(AttentionMask::key_lengths(one_more)),
                    .op = "attention",
                    .prover = Prover::padding});
  models.push_back({.name = "documents without their mask",
                    .model = attend(AttentionMask::causal()),
                    .op = "attention",
                    .prover = Prover::documents});
  models.push_back(
      {.name = "documents joined by a token shift",
       .model = [=](const Tensor& x) { return (*m)(x + later(x), AttentionMask::documents(documents())); },
       .op = "add",
       .prover = Prover::documents});
  return models;
}

// What a draft left in a cache is heard by the tokens behind it.
std::vector<Leaky> caches() {
  const auto m = attention_module();
  m->eval();
  const auto decode = [=](const Tensor& x, std::int64_t kept) {
    const NoGrad guard;
    nn::KVCache cache = m->make_cache(samples, 2 * positions);
    std::vector<Tensor> y;
    for (std::int64_t t = 0; t < positions; ++t) {
      y.push_back(m->decode(narrow(x, 1, t, 1), cache));
      m->decode(narrow(x, 1, positions - 1, 1), cache);  // a draft that looks at the last token
      cache.truncate((t + 1) * kept);
    }
    return concat(y, 1);
  };
  std::vector<Leaky> models;
  models.push_back({"a cache that keeps a rejected draft", [=](const Tensor& x) { return decode(x, 2); }, "",
                    IsolationFinding::value});
  models.push_back({.name = "a cache that goes on with the next sample",
                    .model =
                        [=](const Tensor& x) {
                          const NoGrad guard;
                          nn::KVCache cache = m->make_cache(1, samples * positions);
                          std::vector<Tensor> y;
                          for (std::int64_t b = 0; b < samples; ++b)
                            y.push_back(m->decode(narrow(x, 0, b, 1), cache));
                          return concat(y, 0);
                        },
                    .op = "",
                    .finding = IsolationFinding::value,
                    .prover = Prover::batch});
  return models;
}

}  // namespace

std::vector<Leaky> leaky_attention() {
  std::vector<Leaky> all;
  for (auto part : {wrong_masks(), in_modules(), across_samples(), caches()}) {
    for (Leaky& model : part) all.push_back(std::move(model));
  }
  return all;
}

}  // namespace heed::test::zoo
