// Where queries stand follows from the arguments, never from which tensors are one object; and what is closed
// to every query adds nothing, to the gradients of the projections neither.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/torch_attention.h>
#include <heed/nn/transformer_block.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>

using Catch::Contains;
using heed::AttentionMask;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::MultiHeadAttention;
using heed::nn::MultiHeadAttentionOptions;

namespace {

struct NamedMask {
  std::string name;
  AttentionMask mask;
};

// Every part that knows positions, alone and with lengths, with and without a start.
std::vector<NamedMask> masks() {
  const Tensor lengths = heed::tensor<std::int64_t>({5, 3});
  const std::vector<NamedMask> parts{
      {"nothing", {}},
      {"causal", AttentionMask::causal()},
      {"window", AttentionMask::window(1, 0)},
      {"window to the right", AttentionMask::window(-1, 1)},
      {"ALiBi", AttentionMask::alibi(heed::tensor({0.5, 0.25}))},
  };
  std::vector<NamedMask> all;
  for (const NamedMask& part : parts) {
    const AttentionMask padded = part.mask & AttentionMask::key_lengths(lengths);
    all.insert(all.end(), {part,
                           {part.name + " from 1", part.mask.query_start(1)},
                           {part.name + ", lengths", padded},
                           {part.name + ", lengths, from 0", padded.query_start(0)},
                           {part.name + ", lengths, from -1", padded.query_start(-1)},
                           {part.name + ", lengths, as a cache",
                            padded.query_start(heed::tensor<std::int64_t>({0, -2}))}});
  }
  return all;
}

struct Outcome {
  std::vector<double> values;
  std::string error;
};

template <class Call>
Outcome outcome(const Call& call) {
  try {
    return {.values = call().template to_vector<double>(), .error = {}};
  } catch (const heed::Error& e) {
    return {.values = {}, .error = e.what()};
  }
}

void require_same(const Outcome& a, const Outcome& b) {
  REQUIRE(a.error == b.error);
  REQUIRE(a.values.size() == b.values.size());
  // One packed product or three: sums of 8 products of size 1 in another order, through two projections.
  for (std::size_t i = 0; i < a.values.size(); ++i) REQUIRE(a.values[i] == Approx(b.values[i]).margin(1e-13));
}

Tensor random_input(const heed::Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return heed::randn(shape, generator, DType::f64);
}

MultiHeadAttention layer_of(MultiHeadAttentionOptions options) {
  Generator generator(7);
  options.embed_dim = 8;
  options.num_heads = 2;
  MultiHeadAttention layer(options, generator);
  layer.to(DType::f64);
  return layer;
}

}  // namespace

TEST_CASE("positions do not depend on which tensors are one object", "[fault-20]") {
  const Tensor x = random_input({2, 5, 8}, 1);
  const Tensor q = random_input({2, 2, 5, 4}, 2);
  for (const MultiHeadAttentionOptions& options :
       {MultiHeadAttentionOptions{}, MultiHeadAttentionOptions{.window_left = 2},
        MultiHeadAttentionOptions{.rope = heed::RopeOptions{}},
        MultiHeadAttentionOptions{.add_bias_kv = true}}) {
    const MultiHeadAttention layer = layer_of(options);
    for (const NamedMask& m : masks()) {
      CAPTURE(m.name, options.window_left, options.rope.has_value(), options.add_bias_kv);
      const Tensor key = copy_of(x), value = copy_of(x);
      const Outcome one = outcome([&] { return layer(x, x, x, m.mask); });
      require_same(one, outcome([&] { return layer(x, key, key, m.mask); }));
      require_same(one, outcome([&] { return layer(x, key, value, m.mask); }));
      require_same(one, outcome([&] { return layer.with_weights(x, x, x, m.mask).output; }));
      // The form of self-attention starts at 0, and an explicit start is never replaced.
      const AttentionMask from_first = m.mask.has_query_start() ? m.mask : m.mask.query_start(0);
      const Outcome self = outcome([&] { return layer(x, m.mask); });
      CHECK(self.error.empty());
      require_same(self, outcome([&] { return layer(x, key, value, from_first); }));
    }
  }
  for (const NamedMask& m : masks()) {
    CAPTURE(m.name);
    const Tensor k = copy_of(q), v = copy_of(q);
    require_same(outcome([&] { return attention(q, q, q, {.mask = m.mask}).output; }),
                 outcome([&] { return attention(q, k, v, {.mask = m.mask}).output; }));
  }
}

TEST_CASE("the module and attention have one rule of positions", "[fault-20][fault-45]") {
  const MultiHeadAttention layer = layer_of({});
  const Tensor x = random_input({2, 4, 8}, 1), q = random_input({2, 2, 4, 4}, 2);
  const AttentionMask mask =
      AttentionMask::causal() & AttentionMask::key_lengths(heed::tensor<std::int64_t>({2, 4}));
  const auto names_both = [](const auto& call) {
    CHECK_THROWS_WITH(call(), Contains("mask.query_start(0)") && Contains("mask.query_start(lengths - 4)") &&
                                  Contains("the length is 2 and Tq is 4"));
  };
  names_both([&] { return layer(x, x, x, mask); });
  names_both([&] { return attention(q, q, q, {.mask = mask}); });
  CHECK_NOTHROW(layer(x, mask));
  // What the window of the options closes needs positions as well.
  const AttentionMask lengths = AttentionMask::key_lengths(heed::tensor<std::int64_t>({2, 4}));
  CHECK_NOTHROW(layer(x, x, x, lengths));
  names_both([&] { return layer_of({.window_left = 1})(x, x, x, lengths); });
  // A start in the mask moves the queries of self-attention: query 0 at 1 hears keys 0 and 1.
  const auto values = [](const Tensor& y) { return y.to_vector<double>(); };
  CHECK(values(layer(x, AttentionMask::causal().query_start(1))) !=
        values(layer(x, AttentionMask::causal())));
  CHECK(values(layer(x, AttentionMask::causal().query_start(4))) ==
        values(layer(x, AttentionMask::window(-1, 8))));
}

TEST_CASE("a block shows the weights that it uses", "[fault-20]") {
  Generator generator(3);
  heed::nn::TransformerBlock block({.attention = {.embed_dim = 8, .num_heads = 2}}, generator);
  block.to(DType::f64);
  const Tensor x = random_input({2, 5, 8}, 1);
  const AttentionMask mask =
      AttentionMask::causal() & AttentionMask::key_lengths(heed::tensor<std::int64_t>({5, 2}));
  const auto y = block(x, mask).to_vector<double>(),
             shown = block.with_weights(x, mask).output.to_vector<double>();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Approx(shown[i]).margin(1e-13));
}

TEST_CASE("a mask with another start than the cache is refused, and the cache stays", "[fault-20]") {
  MultiHeadAttention layer = layer_of({});
  layer.eval();
  const heed::NoGrad guard;
  heed::nn::KVCache cache = layer.make_cache(1, 8);
  layer.decode(random_input({1, 3, 8}, 1), cache);
  const Tensor next = random_input({1, 1, 8}, 2);
  CHECK_THROWS_WITH(layer.decode(next, cache, {}, AttentionMask().query_start(0)), Contains("query_start"));
  CHECK(cache.lengths() == std::vector<std::int64_t>{3});
  CHECK_NOTHROW(layer.decode(next, cache));
}

TEST_CASE("windows of a module are integers of any size", "[fault-16]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = random_input({2, 5, 8}, 1);
  const auto values = [&](const MultiHeadAttentionOptions& options) {
    return layer_of(options)(x).to_vector<double>();
  };
  for (const std::int64_t w : {most - 5, most - 1, most}) {
    CHECK(values({.window_right = w}) == values({}));
    CHECK(values({.window_left = w, .window_right = w}) == values({}));
    CHECK(values({.window_left = 0, .window_right = w}) == values({.window_left = 0, .window_right = 4}));
  }
}

TEST_CASE("rows of memory that are closed to every query add nothing, whatever they hold", "[fault-17]") {
  const Tensor lengths = heed::tensor<std::int64_t>({4, 2});
  const Tensor padding = heed::tensor({false, false, false, false, false, false, true, true}, {2, 1, 1, 4});
  for (const MultiHeadAttentionOptions& options :
       {MultiHeadAttentionOptions{}, MultiHeadAttentionOptions{.kdim = 5, .vdim = 3},
        MultiHeadAttentionOptions{.add_bias_kv = true},
        MultiHeadAttentionOptions{.rope = heed::RopeOptions{}}}) {
    for (const AttentionMask& mask : {AttentionMask::key_lengths(lengths), AttentionMask::ignore(padding)}) {
      for (const bool one_memory : {true, false}) {
        const MultiHeadAttention layer = layer_of(options);
        if (one_memory && !layer.qkv.packed()) continue;
        CAPTURE(options.kdim, options.add_bias_kv, one_memory);
        const auto run = [&](double planted) {
          Tensor x = random_input({2, 3, 8}, 1), key = random_input({2, 4, layer.options().kdim}, 2),
                 value = one_memory ? key : random_input({2, 4, layer.options().vdim}, 3);
          for (const Tensor& t : {key, value}) {
            Tensor rows = heed::slice(heed::slice(t, 0, 1, 2), 1, 2, 4);
            rows.fill_(planted);
          }
          std::vector<Tensor> inputs{x, key};
          if (!one_memory) inputs.push_back(value);
          for (Tensor& t : inputs) t.set_requires_grad();
          for (const auto& named : layer.named_parameters()) inputs.push_back(named.second);
          const Tensor y = layer(x, key, value, mask);
          std::vector<double> all = y.to_vector<double>();
          for (const Tensor& g :
               grad(std::span(&y, 1), inputs, {.grad_outputs = {random_input(y.shape(), 4)}})) {
            const auto values = g.to_vector<double>();
            all.insert(all.end(), values.begin(), values.end());
          }
          return all;
        };
        const auto finite = run(0.0);
        CHECK(run(std::numeric_limits<double>::quiet_NaN()) == finite);
        CHECK(run(-std::numeric_limits<double>::infinity()) == finite);
      }
    }
  }
}

TEST_CASE("PyTorch's mask of two axes is one of queries and keys, for any batch", "[fault-48]") {
  const MultiHeadAttention layer = layer_of({});
  const Tensor x = random_input({3, 3, 8}, 1);
  const Tensor later = heed::tensor({false, true, true, false, false, true, false, false, false}, {3, 3});
  const auto y = torch_attention(layer, x, x, x, {.attn_mask = later, .batch_first = true}).output;
  const auto causal = layer(x, AttentionMask::causal()).to_vector<double>(), masked = y.to_vector<double>();
  for (std::size_t i = 0; i < causal.size(); ++i) CHECK(masked[i] == Approx(causal[i]).margin(1e-13));
  CHECK_THROWS_WITH(layer(x, AttentionMask::ignore(later)),
                    Contains("key_lengths") && Contains("[3, 1, 1, 3]"));
}
