#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/elements.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/init.h>
#include <heed/ops/slice.h>
#include <heed/text/packed_loader.h>
#include <heed/train/evaluate.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::text::Batch;
using heed::text::PackedLoader;
using heed::text::PackedSequence;
using heed::text::TokenSpan;
using Ids = std::vector<std::int64_t>;

namespace {

// Documents of these lengths over tokens 0, 1, 2, …
struct Text {
  explicit Text(const std::vector<std::int64_t>& lengths) {
    ids.resize(static_cast<std::size_t>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})));
    std::iota(ids.begin(), ids.end(), 0);
    std::int64_t begin = 0;
    for (const std::int64_t length : lengths) {
      documents.push_back(TokenSpan(std::span<const std::int64_t>(ids)).subspan(begin, length));
      begin += length;
    }
  }
  Ids ids;
  std::vector<TokenSpan> documents;
};

Ids ids_of(const Tensor& x) { return x.to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("rows are full of documents; a document's last token has no target") {
  const Text text({3, 0, 1, 7, 2});
  const PackedSequence rows(text.documents, {.context = 5, .batch = 2});
  CHECK(rows.rows() == 2);
  REQUIRE(rows.batches() == 1);
  const Batch batch = rows.batch(0);
  CHECK(batch.inputs.shape() == heed::Shape{2, 5});
  CHECK(ids_of(batch.inputs) == Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ids_of(batch.targets) == Ids{1, 2, -100, -100, 5, 6, 7, 8, 9, 10});
  CHECK(ids_of(batch.documents) == Ids{0, 0, 0, 1, 2, 0, 0, 0, 0, 0});
  const PackedSequence ones(text.documents, {.context = 4, .batch = 2});
  CHECK(ones.batch(1).inputs.shape() == heed::Shape{1, 4});
  CHECK(ids_of(ones.batch(1).targets) == Ids{9, 10, -100, 12});
}

TEST_CASE("each pass sees every token once, in another order") {
  const Text text({4, 9, 1, 5, 13, 2, 8, 6});  // 48 tokens, 6 rows a pass
  Generator generator(1);
  const PackedLoader loader(text.documents, {.context = 8, .batch = 3}, generator);
  std::set<Ids> orders;
  for (std::int64_t pass = 0; pass < 4; ++pass) {
    Ids seen = ids_of(loader.batch(2 * pass).inputs);
    const Ids rest = ids_of(loader.batch(2 * pass + 1).inputs);
    seen.insert(seen.end(), rest.begin(), rest.end());
    orders.insert(seen);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == text.ids);
  }
  CHECK(orders.size() == 4);
  // One document shorter than a row: passes meet within rows.
  const Text tiny({3});
  const PackedLoader again(tiny.documents, {.context = 7, .batch = 1}, generator);
  CHECK(ids_of(again.batch(1).inputs) == Ids{1, 2, 0, 1, 2, 0, 1});
  CHECK(ids_of(again.batch(1).targets) == Ids{2, -100, 1, 2, -100, 1, 2});
  CHECK(ids_of(again.batch(1).documents) == Ids{0, 0, 1, 1, 1, 2, 2});
}

TEST_CASE("a packed batch depends on seed and step alone, whatever was asked before", "[report-36]") {
  const Text text({4, 9, 1, 5, 13, 2, 8, 6});
  const auto draw = [&](std::uint64_t seed, const Ids& steps) {
    Generator generator(seed);
    const PackedLoader loader(text.documents, {.context = 5, .batch = 4}, generator);
    Ids last;
    for (const std::int64_t step : steps) last = ids_of(loader.batch(step).inputs);
    return last;
  };
  const Ids one = draw(1, {9});
  CHECK(draw(1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) == one);
  CHECK(draw(1, {30, 2, 9}) == one);
  CHECK(draw(2, {9}) != one);
}

TEST_CASE("packing refuses what it cannot pack") {
  const Text text({3, 2});
  Generator generator(1);
  CHECK_THROWS_WITH(PackedLoader({}, {.context = 4, .batch = 1}, generator),
                    Contains("documents with tokens"));
  CHECK_THROWS_WITH(PackedLoader(text.documents, {.context = 0, .batch = 1}, generator),
                    Contains("context is 0"));
  CHECK_THROWS_WITH(PackedSequence(text.documents, {.context = 4, .batch = 0}), Contains("batch is 0"));
  CHECK_THROWS_WITH(PackedSequence(text.documents, {.context = 6, .batch = 1}), Contains("have 5 tokens"));
  const PackedSequence rows(text.documents, {.context = 5, .batch = 1});
  CHECK_THROWS_AS(rows.batch(1), heed::IndexError);
  CHECK_THROWS_AS(rows.batch(-1), heed::IndexError);
  const PackedLoader loader(text.documents, {.context = 4, .batch = 1}, generator);
  CHECK_THROWS_AS(loader.batch(-1), heed::ValueError);
}

TEST_CASE("a packed row gives each document the logits it has alone") {
  const Text text({6, 1, 9, 4});
  const heed::NoGrad guard;
  for (const bool rope : {false, true}) {
    Generator generator(3);
    heed::nn::CausalLMOptions options = {
        .vocab_size = 20, .context = 20, .num_layers = 2, .num_heads = 2, .embed_dim = 16};
    if (rope) options.rope.emplace();
    heed::nn::CausalLM model(options, generator);
    // Weights of a size at which documents would show through each other.
    for (auto& [name, parameter] : model.named_parameters()) {
      if (parameter.rank() == 2) heed::nn::reset_normal(parameter, generator, 0.2);
    }
    const Batch packed = PackedSequence(text.documents, {.context = 20, .batch = 1}).batch(0);
    const Tensor together = model(packed.inputs, packed.documents);
    const auto mixed = model(packed.inputs).to_vector<float>();
    double total = 0;
    std::int64_t begin = 0;
    for (const TokenSpan& document : text.documents) {
      const std::int64_t end = begin + document.size();
      const Tensor tokens = heed::arange(begin, end);
      const auto alone = model(tokens).to_vector<float>();
      const auto within = heed::slice(heed::select(together, 0, 0), 0, begin, end).to_vector<float>();
      // The same sums over the same keys, but blocked otherwise, and RoPE turns by other angles: two layers
      // of sums of 16 to 64 products, of logits near 1, are off by less than 100 units in the last place.
      for (std::size_t i = 0; i < alone.size(); ++i)
        CHECK(std::abs(alone[i] - within[i]) < 100 * 0x1p-24f * 4);
      if (begin > 0) CHECK(std::abs(alone[0] - mixed[static_cast<std::size_t>(begin * 20)]) > 1e-3);
      if (document.size() > 1) {
        const Tensor inputs = heed::arange(begin, end - 1);
        const double count = static_cast<double>(document.size() - 1);
        total += heed::scalar_of(model.loss(inputs, heed::arange(begin + 1, end))) * count;
      }
      begin = end;
    }
    const double loss = heed::scalar_of(model.loss(packed.inputs, packed.targets, packed.documents));
    CHECK(loss == Approx(total / 16).epsilon(1e-5));  // means of floats, some 2^-24 each
    CHECK_THROWS_AS(model(packed.inputs, heed::arange(0, 20)), heed::ShapeError);
  }
}

TEST_CASE("documents of one token each have no target, and are refused before any batch", "[fault-33]") {
  const Text ones(std::vector<std::int64_t>(400, 1));
  Generator generator(1);
  const heed::text::WindowOptions options{.context = 4, .batch = 2};
  CHECK_THROWS_WITH(PackedLoader(ones.documents, options, generator), Contains("400 documents of one token"));
  CHECK_THROWS_WITH(PackedSequence(ones.documents, options), Contains("400 documents of one token"));
  // The only target lies in what is left over at the end.
  const Text late({1, 1, 1, 1, 2});
  CHECK_THROWS_WITH(PackedSequence(late.documents, options), Contains("1 rows of documents of one token"));
  CHECK_NOTHROW(PackedLoader(late.documents, options, generator));
  CHECK_NOTHROW(PackedSequence(Text({1, 1, 1, 2, 1}).documents, options));
}
