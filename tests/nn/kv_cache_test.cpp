#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/slice.h>

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::NoGrad;
using heed::Tensor;
using heed::nn::KVCache;
using heed::nn::MultiHeadAttention;
using heed::nn::MultiHeadAttentionOptions;

namespace {

using Lengths = std::vector<std::int64_t>;

Tensor random_input(const heed::Shape& shape, std::uint64_t seed = 3, DType dtype = DType::f64) {
  Generator generator(seed);
  return heed::randn(shape, generator, dtype);
}

MultiHeadAttention evaluated(const MultiHeadAttentionOptions& options, DType dtype = DType::f64) {
  Generator generator(7);
  MultiHeadAttention layer(options, generator);
  layer.to(dtype);
  layer.eval();
  return layer;
}

std::vector<MultiHeadAttentionOptions> variants() {
  const heed::RopeOptions rope{.layout = heed::RopeLayout::interleaved, .base = 50};
  return {{.embed_dim = 8, .num_heads = 2},
          {.embed_dim = 8, .num_heads = 4, .num_kv_heads = 2, .rope = rope},
          {.embed_dim = 8, .num_heads = 2, .rope = rope, .window_left = 2},
          {.embed_dim = 8,
           .num_heads = 4,
           .num_kv_heads = 1,
           .rope = heed::RopeOptions{},
           .window_left = 1,
           .window_right = 1},
          {.embed_dim = 8,
           .num_heads = 2,
           .num_kv_heads = 1,
           .rope = rope,
           .qk_norm = heed::nn::NormKind::rms,
           .softcap = 3,
           .sink = true,
           .add_bias_kv = true,
           .add_zero_attn = true}};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double largest = 0;
  const auto compare = [&]<class T>(std::type_identity<T>) {
    const auto x = a.to_vector<T>();
    const auto y = b.to_vector<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
      largest = !(difference <= largest) ? difference : largest;
    }
  };
  heed::visit_floating(a.dtype(), compare);
  return largest;
}

// Of [B, T, ..]: tokens [start, start + count) of all samples, or of one.
Tensor tokens(const Tensor& x, std::int64_t start, std::int64_t count) {
  return heed::narrow(x, 1, start, count);
}
Tensor sample(const Tensor& x, std::int64_t b) { return heed::narrow(x, 0, b, 1); }

// The bounds of requirement 47 for decoding against the whole forward.
double bound(DType dtype) { return dtype == DType::f64 ? 1e-12 : 1e-5; }

}  // namespace

TEST_CASE("decoding in chunks is the causal forward", "[report-47]") {
  const NoGrad guard;
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const MultiHeadAttentionOptions& options : variants()) {
      const MultiHeadAttention layer = evaluated(options, dtype);
      const Tensor x = random_input({2, 9, 8}, 3, dtype);
      const Tensor whole = layer(x, AttentionMask::causal());
      KVCache cache = layer.make_cache(2, 9);
      for (const Lengths& chunks : {Lengths{9}, Lengths{1, 1, 1, 1, 1, 1, 1, 1, 1}, Lengths{4, 1, 0, 3, 1}}) {
        cache.reset();
        std::int64_t start = 0;
        for (const std::int64_t count : chunks) {
          const Tensor y = layer.decode(tokens(x, start, count), cache);
          CHECK(largest_difference(y, tokens(whole, start, count)) <= bound(dtype));
          start += count;
        }
        CHECK(cache.lengths() == Lengths{9, 9});
      }
    }
  }
}

TEST_CASE("samples of unequal lengths decode as they do alone", "[report-47]") {
  const NoGrad guard;
  for (const MultiHeadAttentionOptions& options : variants()) {
    const MultiHeadAttention layer = evaluated(options);
    const Tensor x = random_input({3, 8, 8});
    const Tensor whole = layer(x, AttentionMask::causal());
    KVCache cache = layer.make_cache(3, 8);
    // Prompts of 4, 1 and 0 tokens; then two more for the first two and one for the last; then one each.
    Lengths done(3, 0);
    for (const Lengths& counts : {Lengths{4, 1, 0}, Lengths{2, 2, 1}, Lengths{1, 1, 1}}) {
      const std::int64_t longest = *std::max_element(counts.begin(), counts.end());
      Tensor next = heed::zeros({3, longest, 8}, DType::f64);
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t count = counts[static_cast<std::size_t>(b)];
        tokens(sample(next, b), 0, count)
            .copy_(tokens(sample(x, b), done[static_cast<std::size_t>(b)], count));
      }
      const Tensor y = layer.decode(next, cache, counts);
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::size_t s = static_cast<std::size_t>(b);
        CHECK(largest_difference(tokens(sample(y, b), 0, counts[s]),
                                 tokens(sample(whole, b), done[s], counts[s])) <= bound(DType::f64));
        done[s] += counts[s];
      }
      CHECK(cache.lengths() == done);
    }
  }
}

TEST_CASE("ALiBi goes with a cache, at the positions of each sample") {
  const NoGrad guard;
  const MultiHeadAttention layer = evaluated({.embed_dim = 8, .num_heads = 2, .window_left = 3});
  const AttentionMask slopes = AttentionMask::alibi(heed::tensor({0.5, 0.25}));
  const Tensor x = random_input({2, 6, 8});
  const Tensor whole = layer(x, AttentionMask::causal() & slopes);
  KVCache cache = layer.make_cache(2, 6);
  layer.decode(tokens(x, 0, 5), cache, Lengths{5, 2}, slopes);
  Tensor next = heed::zeros({2, 1, 8}, DType::f64);
  sample(next, 0).copy_(tokens(sample(x, 0), 5, 1));
  sample(next, 1).copy_(tokens(sample(x, 1), 2, 1));
  // A mask that fits no head leaves the cache as it was.
  const AttentionMask wrong = AttentionMask::alibi(heed::tensor({0.5, 0.25, 0.125}));
  CHECK_THROWS_AS(layer.decode(next, cache, {}, wrong), heed::ShapeError);
  CHECK(cache.lengths() == Lengths{5, 2});
  const Tensor y = layer.decode(next, cache, {}, slopes);
  CHECK(largest_difference(sample(y, 0), tokens(sample(whole, 0), 5, 1)) <= bound(DType::f64));
  CHECK(largest_difference(sample(y, 1), tokens(sample(whole, 1), 2, 1)) <= bound(DType::f64));
}

TEST_CASE("a cache is rewound and used again", "[report-47]") {
  const NoGrad guard;
  const MultiHeadAttention layer = evaluated(variants()[1]);
  const Tensor x = random_input({2, 6, 8});
  const Tensor whole = layer(x, AttentionMask::causal());
  KVCache cache = layer.make_cache(2, 6);
  layer.decode(random_input({2, 6, 8}, 9), cache);  // other tokens, which must leave no trace
  cache.reset();
  CHECK(cache.longest() == 0);
  layer.decode(tokens(x, 0, 2), cache);
  layer.decode(random_input({2, 3, 8}, 10), cache);
  cache.truncate(2);
  CHECK(cache.keys().shape() == heed::Shape{2, 2, 2, 2});  // of 4 query heads in 2 groups, 2 tokens
  CHECK(largest_difference(layer.decode(tokens(x, 2, 4), cache), tokens(whole, 2, 4)) <= bound(DType::f64));
  // Sample 0 goes back to 3 tokens, sample 1 to 5.
  cache.truncate(Lengths{3, 5});
  CHECK(cache.lengths() == Lengths{3, 5});
  Tensor next = heed::zeros({2, 1, 8}, DType::f64);
  sample(next, 0).copy_(tokens(sample(x, 0), 3, 1));
  sample(next, 1).copy_(tokens(sample(x, 1), 5, 1));
  const Tensor y = layer.decode(next, cache);
  CHECK(largest_difference(sample(y, 0), tokens(sample(whole, 0), 3, 1)) <= bound(DType::f64));
  CHECK(largest_difference(sample(y, 1), tokens(sample(whole, 1), 5, 1)) <= bound(DType::f64));
  cache.truncate(5);  // the shorter one stays
  CHECK(cache.lengths() == Lengths{4, 5});
}

TEST_CASE("a full cache refuses and stays as it is", "[report-48]") {
  const NoGrad guard;
  const MultiHeadAttention layer = evaluated(variants()[0]);
  const Tensor x = random_input({2, 5, 8});
  KVCache cache = layer.make_cache(2, 4);
  layer.decode(tokens(x, 0, 3), cache);
  const auto before = cache.keys().to_vector<double>();
  CHECK_THROWS_AS(layer.decode(tokens(x, 3, 2), cache), heed::ValueError);
  CHECK_THROWS_WITH(layer.decode(tokens(x, 3, 2), cache),
                    Contains("KVCache: full, sample 0 keeps 3 tokens and 2 more are given") &&
                        Contains("at most 4 in all, the capacity"));
  CHECK_THROWS_WITH(layer.decode(tokens(x, 3, 2), cache, Lengths{1, 2}), Contains("sample 1 keeps 3 tokens"));
  CHECK(cache.lengths() == Lengths{3, 3});
  CHECK(cache.keys().to_vector<double>() == before);
  layer.decode(tokens(x, 3, 1), cache);
  CHECK(cache.lengths() == Lengths{4, 4});
}

TEST_CASE("decode refuses training mode, gradients and what does not fit") {
  MultiHeadAttention layer = evaluated(variants()[0]);
  KVCache cache = layer.make_cache(1, 4);
  const Tensor x = random_input({1, 2, 8});
  CHECK_THROWS_AS(layer.decode(x, cache), heed::GradError);
  CHECK_THROWS_WITH(layer.decode(x, cache), Contains("keys have history") && Contains("NoGrad"));
  CHECK(cache.longest() == 0);
  const NoGrad guard;
  CHECK_THROWS_WITH(layer.decode(x, cache, Lengths{3}), Contains("count") && Contains("0 to 2"));
  CHECK_THROWS_WITH(layer.decode(x, cache, Lengths{1, 1}), Contains("number of counts"));
  CHECK_THROWS_AS(layer.decode(random_input({2, 2, 8}), cache), heed::ShapeError);
  CHECK_THROWS_AS(layer.decode(random_input({2, 8}), cache), heed::ShapeError);
  const MultiHeadAttention single = evaluated(variants()[0], DType::f32);
  CHECK_THROWS_AS(single.decode(random_input({1, 2, 8}, 1, DType::f32), cache), heed::DTypeError);
  layer.train();
  CHECK_THROWS_WITH(layer.decode(x, cache), Contains("decode in training mode") && Contains("eval()"));
  const MultiHeadAttention cross = evaluated({.embed_dim = 8, .num_heads = 2, .kdim = 4});
  CHECK_THROWS_WITH(cross.decode(x, cache), Contains("kdim is 4 and vdim is 8"));
  CHECK(cache.longest() == 0);
}

TEST_CASE("KVCache refuses bad sizes and lengths") {
  const auto make = [](std::int64_t batch, std::int64_t heads, std::int64_t dim, std::int64_t capacity) {
    return KVCache({.batch = batch, .num_kv_heads = heads, .head_dim = dim, .capacity = capacity});
  };
  CHECK_THROWS_WITH(make(0, 1, 1, 1), Contains("batch"));
  CHECK_THROWS_WITH(make(1, 0, 1, 1), Contains("num_kv_heads"));
  CHECK_THROWS_WITH(make(1, 1, 0, 1), Contains("head_dim"));
  CHECK_THROWS_WITH(make(1, 1, 1, 0), Contains("capacity"));
  CHECK_THROWS_AS(KVCache({.num_kv_heads = 1, .head_dim = 1, .capacity = 1, .dtype = DType::i64}),
                  heed::DTypeError);
  KVCache cache = make(2, 1, 3, 4);
  CHECK_THROWS_WITH(cache.truncate(-1), Contains("length") && Contains("0 or more"));
  CHECK_THROWS_WITH(cache.truncate(Lengths{1}), Contains("number of lengths"));
  const Tensor keys = heed::zeros({2, 1, 2, 3});
  CHECK_THROWS_AS(cache.append(keys, heed::zeros({2, 1, 1, 3})), heed::ShapeError);
  cache.append(keys, keys);
  CHECK(cache.values().shape() == heed::Shape{2, 1, 2, 3});
}
