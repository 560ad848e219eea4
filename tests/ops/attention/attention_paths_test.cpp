// The three forms of attention against each other: blocked, composite,
// textbook, over random options and all lengths.
#include <cmath>
#include <cstdlib>
#include <limits>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/expand.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

using namespace heed;

namespace {

// Draws of small numbers for option sets.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}
  std::int64_t below(std::int64_t n) { return randint(0, n, {}, generator_).item<std::int64_t>(); }
  bool often() { return below(2) == 0; }
  bool seldom() { return below(4) == 0; }
  Tensor normal(const Shape& shape, DType dtype = DType::f64) { return randn(shape, generator_, dtype); }
  Tensor bits(const Shape& shape, double share) { return lt(rand(shape, generator_, DType::f64), share); }
  Tensor integers(std::int64_t low, std::int64_t high, const Shape& shape) {
    return randint(low, high, shape, generator_);
  }

 private:
  Generator generator_;
};

struct Problem {
  std::vector<Tensor> inputs;  // q, k, v, then what the options differentiate
  AttentionOptions options;
  Shape scores;
};

AttentionMask random_mask(Draw& draw, Problem& p) {
  const Shape& s = p.scores;
  const std::int64_t batch = s[0], heads = s[1], queries = s[2], keys = s[3];
  AttentionMask mask;
  if (draw.often()) mask = mask & AttentionMask::causal();
  if (draw.seldom()) mask = mask & AttentionMask::window(draw.below(6) - 1, draw.below(6) - 1);
  if (draw.seldom()) mask = mask & AttentionMask::key_lengths(draw.integers(0, keys + 1, {batch}));
  if (draw.seldom()) mask = mask.query_start(draw.below(keys + 2) - 1);
  if (draw.seldom()) mask = mask.query_start(draw.integers(-1, keys + 1, {batch}));
  if (draw.seldom()) mask = mask & AttentionMask::attend(draw.bits({queries, keys}, 0.7));
  if (draw.seldom()) mask = mask & AttentionMask::ignore(draw.bits({batch, 1, 1, keys}, 0.3));
  if (queries == keys && draw.seldom())
    mask = mask & AttentionMask::documents(draw.integers(0, 3, {batch, keys}));
  if (draw.seldom()) {
    Tensor bias = draw.normal(draw.often() ? Shape{heads, queries, keys} : Shape{batch, 1, 1, keys});
    if (draw.often())
      bias.mutable_data<double>()[draw.below(bias.numel())] = -std::numeric_limits<double>::infinity();
    if (draw.often()) p.inputs.push_back(bias.set_requires_grad());
    mask = mask & AttentionMask::bias(bias);
  }
  if (draw.seldom()) {
    Tensor slopes = draw.normal({heads});
    if (draw.often()) p.inputs.push_back(slopes.set_requires_grad());
    mask = mask & AttentionMask::alibi(slopes);
  }
  return mask;
}

Problem random_problem(std::uint64_t seed, std::int64_t longest) {
  Draw draw(seed);
  const std::int64_t kv_heads = 1 + draw.below(2), heads = kv_heads * (1 + draw.below(3));
  const std::int64_t batch = 1 + draw.below(2), queries = 1 + draw.below(longest), size = 1 + draw.below(9);
  const std::int64_t keys = draw.often() ? queries : 1 + draw.below(longest);
  Problem p;
  p.scores = {batch, heads, queries, keys};
  // [B, T, H, D] seen as [B, H, T, D] half of the time.
  const auto operand = [&](std::int64_t h, std::int64_t t, std::int64_t d) {
    Tensor x = draw.often() ? transpose(draw.normal({batch, t, h, d}), 1, 2) : draw.normal({batch, h, t, d});
    return x.set_requires_grad();
  };
  p.inputs = {operand(heads, queries, size), operand(kv_heads, keys, size),
              operand(kv_heads, keys, 1 + draw.below(9))};
  AttentionOptions& o = p.options;
  o.mask = random_mask(draw, p);
  if (draw.seldom()) o.scale = static_cast<double>(draw.below(5)) - 2;
  if (draw.seldom()) o.softcap = 0.5 + static_cast<double>(draw.below(3));
  if (draw.seldom()) {
    o.sink = draw.normal({heads});
    if (draw.often()) p.inputs.push_back(o.sink.set_requires_grad());
  }
  if (draw.seldom()) {
    o.dropout = 0.25 * static_cast<double>(1 + draw.below(4));
    o.dropout_keep = draw.bits(p.scores, 1 - o.dropout);
  }
  o.need_lse = draw.often();
  o.need_weights = draw.seldom();
  o.need_statistics = draw.seldom();
  return p;
}

using Form = AttentionResult (*)(const Tensor&, const Tensor&, const Tensor&, const AttentionOptions&);

// Results, gradients and second gradients, all in one list. −inf of dead rows counts as a number.
std::vector<double> everything(Form form, const Problem& p, std::uint64_t seed) {
  std::vector<double> all;
  const auto append = [&](const Tensor& x) {
    for (const double value : x.to_vector<double>())
      all.push_back(std::isinf(value) ? std::copysign(1e300, value) : value);
  };
  const AttentionResult y = form(p.inputs[0], p.inputs[1], p.inputs[2], p.options);
  std::vector<Tensor> outputs;
  for (const Tensor* x : {&y.output, &y.weights, &y.lse, &y.entropy}) {
    if (x->defined()) outputs.push_back(*x);
  }
  for (const Tensor* x : {&y.effective_keys, &y.largest_logit, &y.sink_mass, &y.saturated}) {
    if (x->defined()) append(*x);
  }
  for (const Tensor& x : outputs) append(x);
  Draw draw(seed);
  GradOptions how{.retain_graph = true, .allow_unused = true};
  for (const Tensor& x : outputs) how.grad_outputs.push_back(draw.normal(x.shape()));
  for (const Tensor& g : grad(outputs, p.inputs, how)) append(g.defined() ? g : scalar(0.0));
  how.create_graph = true;
  std::vector<Tensor> first = grad(outputs, p.inputs, how);
  std::erase_if(first, [](const Tensor& g) { return !g.requires_grad(); });
  if (first.empty()) return all;
  GradOptions again{.allow_unused = true};
  for (const Tensor& g : first) again.grad_outputs.push_back(draw.normal(g.shape()));
  for (const Tensor& g : grad(first, p.inputs, again)) append(g.defined() ? g : scalar(0.0));
  return all;
}

// Of numbers of the size of `scale`: sums of some hundred terms in another order, through two derivatives.
void require_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance,
                   double scale = 1) {
  REQUIRE(a.size() == b.size());
  for (const double x : b) {
    if (std::abs(x) < 1e299) scale = std::max(scale, std::abs(x));
  }
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= worst)) worst = difference;  // keeps a NaN
  }
  REQUIRE(worst <= tolerance * scale);
}

// HEED_LONG_TESTS=n multiplies the number of random problems.
std::uint64_t rounds(std::uint64_t usual) {
  const char* factor = std::getenv("HEED_LONG_TESTS");
  return factor == nullptr ? usual : usual * std::strtoull(factor, nullptr, 10);
}

}  // namespace

TEST_CASE("blocked and composite attention agree on random options, to the second derivative") {
  for (std::uint64_t seed = 1; seed <= rounds(150); ++seed) {
    CAPTURE(seed);
    const Problem p = random_problem(seed, seed % 10 == 0 ? 140 : 12);
    require_close(everything(detail::attention_blocked, p, seed),
                  everything(detail::attention_composite, p, seed), 1e-11);
  }
}

TEST_CASE("the textbook formula agrees with both where it has the options") {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    CAPTURE(seed);
    Draw draw(1000 + seed);
    const std::int64_t time = 1 + draw.below(70);
    std::vector<Tensor> x;
    for (int i = 0; i < 3; ++i) x.push_back(draw.normal({2, 3, time, 5}).set_requires_grad());
    const AttentionMask mask =
        draw.often() ? AttentionMask::causal() : AttentionMask::window(draw.below(5), draw.below(5));
    const Shape scores{2, 3, time, time};
    const Tensor cotangent = draw.normal({2, 3, time, 5});
    const auto gradients = [&](const Tensor& y) {
      std::vector<double> all = y.to_vector<double>();
      for (const Tensor& g : grad(std::span(&y, 1), x, {.grad_outputs = {cotangent}})) {
        const auto values = g.to_vector<double>();
        all.insert(all.end(), values.begin(), values.end());
      }
      return all;
    };
    const auto textbook =
        gradients(scaled_dot_product_attention(x[0], x[1], x[2], mask.open_pairs(scores)).output);
    require_close(gradients(attention(x[0], x[1], x[2], {.mask = mask}).output), textbook, 1e-12);
    require_close(gradients(detail::attention_composite(x[0], x[1], x[2], {.mask = mask}).output), textbook,
                  1e-12);
  }
}

namespace {

// [1, 2, time, size] of normal numbers inside a larger buffer of NaN.
Tensor inside_nan(Generator& generator, std::int64_t time, std::int64_t size) {
  Tensor buffer = full({time + 2, 2, size + 3}, std::numeric_limits<double>::quiet_NaN(), DType::f32);
  const Tensor values = randn({time, 2, size}, generator);
  Tensor inner = slice(slice(buffer, 0, 1, time + 1), 2, 2, size + 2);
  inner.copy_(values);
  return reshape(transpose(inner, 0, 1), {1, 2, time, size});
}

// Float32 blocks against the composite form in float64: output and the gradients of q, k and v.
void compare_lengths(std::int64_t queries, std::int64_t keys, std::int64_t size, std::uint64_t seed) {
  CAPTURE(queries, keys, size, seed);
  Draw draw(seed);
  Generator generator(seed);
  std::vector<Tensor> x{inside_nan(generator, queries, size), inside_nan(generator, keys, size),
                        inside_nan(generator, keys, size)};
  AttentionMask mask = AttentionMask::key_lengths(tensor<std::int64_t>({keys - keys / 5}));
  if (draw.often()) mask = mask & AttentionMask::causal();
  if (draw.seldom()) mask = mask & AttentionMask::attend(draw.bits({queries, keys}, 0.8));
  if (draw.seldom()) mask = mask & AttentionMask::window(draw.below(100), draw.below(100));
  const Tensor cotangent = randn({1, 2, queries, size}, generator);

  std::vector<Tensor> wide;
  for (const Tensor& t : x) wide.push_back(cast(t, DType::f64).set_requires_grad());
  const Tensor expected = detail::attention_composite(wide[0], wide[1], wide[2], {.mask = mask}).output;
  const auto expected_gradients =
      grad(std::span(&expected, 1), wide, {.grad_outputs = {cast(cotangent, DType::f64)}});

  for (int i = 1; i < 3; ++i) {  // keys and values behind the length are closed to all
    for (std::int64_t j = keys - keys / 5; j < keys; ++j) {
      Tensor closed = slice(x[static_cast<std::size_t>(i)], 2, j, j + 1);
      closed.fill_(std::numeric_limits<double>::quiet_NaN());
    }
  }
  for (Tensor& t : x) t.set_requires_grad();
  const Tensor y = detail::attention_blocked(x[0], x[1], x[2], {.mask = mask}).output;
  const auto gradients = grad(std::span(&y, 1), x, {.grad_outputs = {cotangent}});
  // The bound of the requirement, 1e-5 relative, on the size of each result.
  require_close(cast(y, DType::f64).to_vector<double>(), expected.to_vector<double>(), 1e-5);
  for (std::size_t i = 0; i < 3; ++i) {
    // A gradient of keys and values is a sum over the queries: terms of
    // random sign add up to √n, even where they cancel.
    const double size_of_sum = i == 0 ? 1 : std::sqrt(static_cast<double>(queries));
    require_close(cast(gradients[i], DType::f64).to_vector<double>(),
                  expected_gradients[i].to_vector<double>(), 1e-5, size_of_sum);
  }
}

}  // namespace

TEST_CASE("float32 blocks match float64 at all lengths, with NaN around and in closed keys", "[report-27]") {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 130; ++n) lengths.push_back(n);
  for (const std::int64_t n : {255, 256, 257, 1000, 1025}) lengths.push_back(n);
  const std::vector<std::int64_t> sizes{1, 3, 8, 33, 64, 80, 128};
  if (std::getenv("HEED_LONG_TESTS") != nullptr) {
    std::uint64_t seed = 0;
    for (const std::int64_t size : sizes) {
      for (const std::int64_t queries : lengths) {
        for (const std::int64_t keys : lengths) compare_lengths(queries, keys, size, ++seed);
      }
    }
    return;
  }
  Draw draw(27);
  const auto one_of = [&](const std::vector<std::int64_t>& all) {
    return all[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(all.size())))];
  };
  // Once in full; where an instruction set was chosen, the other lanes are what is new.
  const std::uint64_t count = std::getenv("HEED_SIMD") == nullptr ? 2000 : 100;
  for (std::uint64_t seed = 1; seed <= count; ++seed)
    compare_lengths(one_of(lengths), one_of(lengths), one_of(sizes), seed);
}
