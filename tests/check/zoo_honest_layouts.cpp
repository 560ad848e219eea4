#include <heed/core/checkpoint.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/torch_attention.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/concat.h>
#include <heed/ops/embedding.h>
#include <heed/ops/expand.h>
#include <heed/ops/gather.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

#include "zoo.h"

// Tokens and sequences in every layout, and caches.
namespace heed::test::zoo {
namespace {

using check::IsolationOptions;

std::vector<Honest> models_of_tokens() {
  const auto gpt = language_model();
  const auto llama = language_model({.bias = false,
                                     .num_kv_heads = 1,
                                     .rope = RopeOptions{},
                                     .activation = nn::Activation::silu,
                                     .gated = true,
                                     .norm = nn::NormKind::rms});
  const Tensor packed = documents();
  std::vector<Honest> models;
  models.push_back({"gpt", [=](const Tensor& x) { return (*gpt)(x); }, tokens()});
  models.push_back({"llama", [=](const Tensor& x) { return (*llama)(x); }, tokens()});
  models.push_back({"gpt, composite",
                    [=](const Tensor& x) {
                      const NoFusion guard;
                      return (*gpt)(x);
                    },
                    tokens()});
  models.push_back({.name = "gpt over documents",
                    .model = [=](const Tensor& x) { return (*gpt)(x, expand(packed, x.shape())); },
                    .x = tokens(),
                    .documents = packed});
  models.push_back(
      {"gpt in a checkpoint",
       [=](const Tensor& x) { return checkpoint([=](const Tensor& t) { return (*gpt)(t); }, x); }, tokens()});
  models.push_back({.name = "gpt of one row",
                    .model = [=](const Tensor& x) { return (*gpt)(x); },
                    .x = select(tokens(), 0, 0),
                    .options = {.time_axis = 0, .batch_axis = IsolationOptions::no_axis},
                    .isolates_batch = false});
  return models;
}

// Embeddings of tokens [samples, positions] in other layouts.
std::vector<Honest> embeddings() {
  const auto m = attention_module();
  const Tensor table = parameter(vocabulary, width);
  const auto time_major = [=](const Tensor& by_time) {  // [T, B] → [T, B, C]
    const Tensor e = embedding(table, by_time);
    return nn::torch_attention(*m, e, e, e, {.is_causal = true}).output;
  };
  const Tensor order = tensor<std::int64_t>({4, 0, 3, 5, 1, 2});
  const Tensor back = tensor<std::int64_t>({1, 4, 5, 2, 0, 3});
  std::vector<Honest> models;
  models.push_back({"tokens embedded time-major",
                    [=](const Tensor& x) { return transpose(time_major(transpose(x)), 0, 1); }, tokens()});
  models.push_back(
      {"tokens and output time-major", time_major, transpose(tokens()), {.time_axis = 0, .batch_axis = 1}});
  models.push_back({.name = "tokens batch-major, output time-major",
                    .model = [=](const Tensor& x) { return time_major(transpose(x)); },
                    .x = tokens(),
                    .options = {.output_time_axis = 0, .output_batch_axis = 1}});
  models.push_back({"tokens flipped before the embedding",
                    [=](const Tensor& x) {
                      const Tensor e = flip(embedding(table, flip(x, {1})), {1});
                      return (*m)(e, AttentionMask::causal());
                    },
                    tokens()});
  models.push_back({"a reversed model",
                    [=](const Tensor& x) {
                      const Tensor e = embedding(table, flip(x, {1}));
                      const AttentionMask mask = AttentionMask::window(0, -1);
                      return flip((*m)(e, mask), {1});
                    },
                    tokens()});
  models.push_back({"positions in another order",
                    [=](const Tensor& x) {
                      const Tensor e = embedding(table, index_select(x, 1, order));
                      return (*m)(index_select(e, 1, back), AttentionMask::causal());
                    },
                    tokens()});
  models.push_back({"all samples packed in one row",
                    [=](const Tensor& x) {
                      const Tensor e = embedding(table, reshape(x, {1, samples * positions}));
                      const Tensor ids = tensor<std::int64_t>({0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
                      const Tensor y = (*m)(e, AttentionMask::documents(ids) & AttentionMask::causal());
                      return reshape(y, {samples, positions, width});
                    },
                    tokens()});
  models.push_back(
      {"sorted tokens looked up, then gathered",
       [=](const Tensor& x) { return (*m)(gathered_vectors(table, x), AttentionMask::causal()); }, tokens()});
  models.push_back({"one-hot vectors and a product",
                    [=](const Tensor& x) {
                      return (*m)(matmul(one_hot(x, vocabulary, DType::f64), table), AttentionMask::causal());
                    },
                    tokens()});
  models.push_back(
      {"a table that is computed first",
       [=](const Tensor& x) { return (*m)(embedding(dense(table), x), AttentionMask::causal()); }, tokens()});
  models.push_back({"pairs of tokens",
                    [=](const Tensor& x) {
                      const Tensor before = concat({zeros({samples, 1}, DType::i64), slice(x, 1, 0, -1)}, 1);
                      const Tensor pairs = parameter(vocabulary * vocabulary, width);
                      const Tensor e = embedding(pairs, before * vocabulary + x);
                      return (*m)(e, AttentionMask::causal());
                    },
                    tokens()});
  models.push_back({"signs for embeddings",
                    [=](const Tensor& x) {
                      const Tensor e = embedding(sign(table.detach()).set_requires_grad(), x);
                      return (*m)(e, AttentionMask::causal());
                    },
                    tokens()});
  return models;
}

std::vector<Honest> sequences() {
  const auto m = attention_module();
  std::vector<Honest> models;
  models.push_back(
      {"time-major",
       [=](const Tensor& x) { return nn::torch_attention(*m, x, x, x, {.is_causal = true}).output; },
       permute(sequence(), {1, 0, 2}),
       {.time_axis = 0, .batch_axis = 1}});
  models.push_back({"channels before positions",
                    [=](const Tensor& x) { return transpose((*m)(transpose(x), AttentionMask::causal())); },
                    transpose(sequence()),
                    {.time_axis = 2}});
  models.push_back(
      {"flipped twice",
       [=](const Tensor& x) { return flip((*m)(flip(x, {1}), AttentionMask::window(0, -1)), {1}); },
       sequence()});
  models.push_back({.name = "one sample without an axis",
                    .model = [=](const Tensor& x) { return (*m)(x, AttentionMask::causal()); },
                    .x = select(sequence(), 0, 0),
                    .options = {.time_axis = 0, .batch_axis = IsolationOptions::no_axis},
                    .isolates_batch = false});
  return models;
}

// One token after the other; a draft that is rejected is forgotten.
std::vector<Honest> caches() {
  const auto m = attention_module();
  m->eval();
  const auto decode = [=](const Tensor& x, bool drafts) {
    const NoGrad guard;
    nn::KVCache cache = m->make_cache(samples, positions + 1);
    std::vector<Tensor> y;
    for (std::int64_t t = 0; t < positions; ++t) {
      y.push_back(m->decode(narrow(x, 1, t, 1), cache));
      if (!drafts) continue;
      m->decode(narrow(x, 1, positions - 1, 1), cache);  // a draft from anywhere
      cache.truncate(t + 1);
    }
    return concat(y, 1);
  };
  std::vector<Honest> models;
  models.push_back({"a cache", [=](const Tensor& x) { return decode(x, false); }, sequence()});
  models.push_back({"a cache that forgets a rejected draft", [=](const Tensor& x) { return decode(x, true); },
                    sequence()});
  return models;
}

}  // namespace

std::vector<Honest> honest_layouts() {
  std::vector<Honest> all;
  for (auto part : {models_of_tokens(), embeddings(), sequences(), caches()}) {
    for (Honest& model : part) all.push_back(std::move(model));
  }
  return all;
}

}  // namespace heed::test::zoo
