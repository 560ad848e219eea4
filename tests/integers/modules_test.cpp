// Integer options and arguments of modules, schedules, loaders and samplers at the ends of their range.
#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/lm/sampling.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/embedding.h>
#include <heed/nn/kv_cache.h>
#include <heed/nn/linear.h>
#include <heed/nn/mlp.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/norm.h>
#include <heed/optim/schedule.h>
#include <heed/optim/watchers.h>
#include <heed/text/packed_loader.h>
#include <heed/text/window_loader.h>

#include "numbers.h"

using namespace heed;
using namespace heed::test;

namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;
using Text = std::optional<std::string>;

// A module that is made: how many elements its parameters have.
template <class Module, class Options>
std::string made(const Options& options) {
  Generator generator(1);
  return fmt::format("{}", Module(options, generator).parameter_count());
}

Text count_if(bool legal, Wide count) {
  return legal ? Text(fmt::format("{}", static_cast<Number>(count))) : std::nullopt;
}

nn::CausalLMOptions small_model() {
  return {.vocab_size = 5, .context = 4, .num_layers = 1, .num_heads = 2, .embed_dim = 4};
}

const std::vector<IntegerRow>& module_rows() {
  static const std::vector<IntegerRow> rows = {
      row(
          "Linear::in", [](Number n) { return made<nn::Linear>(nn::LinearOptions{.in = n, .out = 2}); },
          [](Number n) { return count_if(n >= 1 && fits(Wide{n} * 8), Wide{n} * 2 + 2); }),
      row(
          "Linear::out", [](Number n) { return made<nn::Linear>(nn::LinearOptions{.in = 2, .out = n}); },
          [](Number n) { return count_if(n >= 1 && fits(Wide{n} * 8), Wide{n} * 3); }),
      {"Embedding", 2,
       [](const Numbers& n) { return made<nn::Embedding>(nn::EmbeddingOptions{.count = n[0], .dim = n[1]}); },
       [](const Numbers& n) {
         const Wide count = Wide{n[0]} * n[1];
         return count_if(n[0] >= 1 && n[1] >= 1 && fits(count * 4), count);
       }},
      row(
          "Norm",
          [](Number n) { return fmt::format("{}", nn::Norm({.normalized_shape = {n}}).parameter_count()); },
          [](Number n) { return count_if(n >= 0 && fits(Wide{n} * 4), Wide{n} * 2); }),
      row(
          "MLP::dim", [](Number n) { return made<nn::MLP>(nn::MLPOptions{.dim = n}); },
          [](Number n) { return count_if(n >= 1 && n < 8000, Wide{n} * n * 8 + 5 * Wide{n}); }),
      row(
          "MLP::hidden", [](Number n) { return made<nn::MLP>(nn::MLPOptions{.dim = 1, .hidden = n}); },
          [](Number n) {
            const Wide hidden = n == 0 ? 4 : n;
            return count_if(hidden >= 1 && fits(hidden * 4), hidden * 3 + 1);
          }),
      {"MultiHeadAttention", 3,
       [](const Numbers& n) {
         return made<nn::MultiHeadAttention>(nn::MultiHeadAttentionOptions{
             .embed_dim = n[0], .num_heads = n[1], .bias = false, .head_dim = n[2]});
       },
       [](const Numbers& n) {
         const bool positive = n[0] >= 1 && n[1] >= 1;
         const Wide dim = positive && n[2] == 0 && n[0] % n[1] == 0 ? n[0] / n[1] : n[2];
         if (!positive || dim < 1 || Wide{n[1]} * dim > Wide{1} << 30) return count_if(false, 0);
         const Wide width = n[1] * dim;
         return count_if(fits(width * 3) && fits(width * 3 * n[0] * 4), width * n[0] * 4);
       }},
      row(
          "MultiHeadAttention::num_kv_heads",
          [](Number n) {
            return made<nn::MultiHeadAttention>(nn::MultiHeadAttentionOptions{
                .embed_dim = 4, .num_heads = 4, .bias = false, .num_kv_heads = n});
          },
          [](Number n) {
            const Wide heads = n == 0 ? 4 : n;
            return count_if(heads == 1 || heads == 2 || heads == 4, 16 + 8 * heads + 16);
          }),
      {"MultiHeadAttention::window_left and window_right", 2,
       [](const Numbers& n) {
         Generator generator(1);
         const nn::MultiHeadAttention attend(
             {.embed_dim = 2, .num_heads = 1, .window_left = n[0], .window_right = n[1]}, generator);
         const NoGrad guard;
         const Tensor x = randn({1, 3, 2}, generator);
         const auto y = attend.with_weights(x, x, x, {}).weights.to_vector<float>();
         return fmt::format("{} open",
                            y.size() - static_cast<std::size_t>(std::count(y.begin(), y.end(), 0.f)));
       },
       [](const Numbers& n) -> Text {
         if (n[0] < -1 || n[1] < -1) return {};
         int open = 0;
         for (Wide i = 0; i < 3; ++i) {
           for (Wide j = 0; j < 3; ++j)
             open += (n[0] < 0 || j >= i - n[0]) && (n[1] < 0 || j <= i + n[1]) ? 1 : 0;
         }
         return fmt::format("{} open", open);
       }},
      row(
          "CausalLM::vocab_size",
          [](Number n) {
            auto options = small_model();
            options.vocab_size = n;
            Generator generator(1);
            return fmt::format("{}", nn::CausalLM(options, generator).token.weight.shape().str());
          },
          [](Number n) {
            return n >= 1 && fits(Wide{n} * 16) ? Text(fmt::format("[{}, 4]", n)) : std::nullopt;
          }),
      row(
          "CausalLM::context",
          [](Number n) {
            auto options = small_model();
            options.context = n;
            Generator generator(1);
            return fmt::format("{}", nn::CausalLM(options, generator).position->weight.shape().str());
          },
          [](Number n) {
            return n >= 1 && fits(Wide{n} * 16) ? Text(fmt::format("[{}, 4]", n)) : std::nullopt;
          }),
      row(
          "CausalLM::num_layers",
          [](Number n) {
            auto options = small_model();
            options.num_layers = n;
            Generator generator(1);
            return fmt::format("{}", nn::CausalLM(options, generator).blocks.size());
          },
          [](Number n) { return count_if(n >= 1 && n < 1000, n); }),
  };
  return rows;
}

const std::vector<IntegerRow>& cache_rows() {
  static const std::vector<IntegerRow> rows = {
      {"KVCache", 2,
       [](const Numbers& n) {
         return nn::KVCache({.batch = n[0], .num_kv_heads = 1, .head_dim = 1, .capacity = n[1]})
             .keys()
             .shape()
             .str();
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 1 || n[1] < 1 || !fits(Wide{n[0]} * n[1] * 4) || !fits(Wide{n[0]} * 8)) return {};
         return Shape({n[0], 1, 0, 1}).str();
       }},
      row(
          "KVCache::truncate",
          [](Number n) {
            nn::KVCache cache({.batch = 1, .num_kv_heads = 1, .head_dim = 1, .capacity = 4});
            cache.append(ones({1, 1, 3, 1}), ones({1, 1, 3, 1}));
            cache.truncate(n);
            return fmt::format("{}", cache.longest());
          },
          [](Number n) { return count_if(n >= 0, std::min<Wide>(n, 3)); }),
      row(
          "counts of KVCache::append",
          [](Number n) {
            nn::KVCache cache({.batch = 1, .num_kv_heads = 1, .head_dim = 1, .capacity = 4});
            cache.append(ones({1, 1, 3, 1}), ones({1, 1, 3, 1}), std::vector<Number>{n});
            return fmt::format("{}", cache.longest());
          },
          [](Number n) { return count_if(n >= 0 && n <= 3, n); }),
      row(
          "top_k",
          [](Number n) {
            Generator generator(1);
            const Number token = lm::sample_token(tensor({0.f, 1.f, 50.f}), {.top_k = n}, generator);
            return fmt::format("{}", token);
          },
          [](Number n) { return count_if(n >= 0, 2); }),
      row(
          "seen token",
          [](Number n) {
            Generator generator(1);
            const std::vector<Number> seen{n};
            return fmt::format(
                "{}", lm::sample_token(tensor({0.f, 1.f, 50.f}), {.repetition_penalty = 2}, generator, seen));
          },
          [](Number n) { return count_if(n >= 0 && n < 3, 2); }),
      row(
          "patience",
          [](Number n) {
            optim::EarlyStopping watch(n);
            const bool first = watch.observe(1.0);
            return fmt::format("{} {}", first, watch.observe(0.5));
          },
          [](Number n) { return n >= 1 ? Text("false false") : std::nullopt; }),
  };
  return rows;
}

// Every schedule with the number as each of its counts, at every step: a rate between 0 and the largest.
void require_rate(const std::string& name, const std::function<optim::Schedule(Number)>& make, Number n) {
  for (const Number step : end_numbers()) {
    try {
      const double rate = make(n)(step);
      INFO(name << " of " << n << " at " << step << ": " << rate);
      CHECK(step >= 0);
      CHECK((rate >= 0 && rate <= 1));
    } catch (const Error&) {
      CHECK((step < 0 || n <= 0 || step >= n || name.find("decay") != std::string::npos));
    }
  }
}

const std::vector<IntegerRow>& loader_rows() {
  static const std::vector<Number> tokens{0, 1, 2, 3, 4, 5, 6, 7};
  static const auto text = [] { return text::TokenText(tokens); };
  static const auto documents = [] {
    return std::vector<text::TokenSpan>{text::TokenSpan(std::span<const Number>(tokens))};
  };
  const auto window_batch = [](const text::WindowOptions& options, Number step) {
    Generator generator(1);
    return text::WindowLoader(text(), options, generator).batch(step).inputs.shape().str();
  };
  static const std::vector<IntegerRow> rows = {
      row(
          "context of WindowLoader", [=](Number n) { return window_batch({.context = n, .batch = 1}, 0); },
          [](Number n) { return n >= 1 && n < 8 ? Text(fmt::format("[1, {}]", n)) : std::nullopt; }),
      row(
          "batch of WindowLoader", [=](Number n) { return window_batch({.context = 1, .batch = n}, 0); },
          [](Number n) {
            return n >= 1 && fits(Wide{n} * 8) ? Text(fmt::format("[{}, 1]", n)) : std::nullopt;
          }),
      row(
          "every of WindowLoader",
          [=](Number n) { return window_batch({.context = 2, .batch = 1, .every = n}, 0); },
          [](Number n) { return n >= 0 ? Text("[1, 2]") : std::nullopt; }),
      row(
          "step of WindowLoader", [=](Number n) { return window_batch({.context = 2, .batch = 3}, n); },
          [](Number n) { return n >= 0 ? Text("[3, 2]") : std::nullopt; }),
      {"share of WindowLoader", 2,
       [=](const Numbers& n) {
         return window_batch({.context = 2, .batch = 3, .share = {.part = n[0], .of = n[1]}}, 0);
       },
       [](const Numbers& n) -> Text {
         if (n[1] < 1 || n[0] < 0 || n[0] >= n[1]) return {};
         return fmt::format("[{}, 2]", 3 / n[1] + (n[0] < 3 % n[1] ? 1 : 0));
       }},
      {"WindowSequence", 3,
       [](const Numbers& n) {
         const text::WindowSequence windows(text(), {.context = 2, .batch = n[0], .every = n[1]});
         return windows.batch(n[2]).inputs.shape().str();
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 1 || n[1] < 0 || n[2] < 0) return {};
         const Wide windows = 5 / (n[1] == 0 ? Wide{2} : Wide{n[1]}) + 1;
         const Wide first = Wide{n[0]} * n[2];
         if (first >= windows) return {};
         return fmt::format("[{}, 2]", static_cast<Number>(std::min<Wide>(windows - first, n[0])));
       }},
      {"PackedLoader", 2,
       [](const Numbers& n) {
         Generator generator(1);
         return text::PackedLoader(documents(), {.context = 2, .batch = n[0]}, generator)
             .batch(n[1])
             .inputs.shape()
             .str();
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 1 || n[1] < 0 || !fits(Wide{n[0]} * 16)) return {};
         // All tokens up to the batch's last are numbered.
         if ((Wide{n[0]} * n[1] + n[0]) * 2 > std::numeric_limits<Number>::max()) return {};
         return fmt::format("[{}, 2]", n[0]);
       }},
      {"PackedSequence", 2,
       [](const Numbers& n) {
         return text::PackedSequence(documents(), {.context = 2, .batch = n[0]})
             .batch(n[1])
             .inputs.shape()
             .str();
       },
       [](const Numbers& n) -> Text {
         if (n[0] < 1 || n[1] < 0 || Wide{n[0]} * n[1] >= 4) return {};
         return fmt::format("[{}, 2]", static_cast<Number>(std::min<Wide>(4 - Wide{n[0]} * n[1], n[0])));
       }},
  };
  return rows;
}

}  // namespace

TEST_CASE("sizes of modules at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : module_rows()) require_row(row);
}

TEST_CASE("caches, samplers and watchers at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : cache_rows()) require_row(row);
}

TEST_CASE("loaders at the ends of 64 bits", "[fault-16]") {
  for (const IntegerRow& row : loader_rows()) require_row(row);
}

TEST_CASE("schedules at the ends of 64 bits", "[fault-16]") {
  using namespace heed::optim;
  for (const Number n : end_numbers()) {
    require_rate(
        "warmup", [](Number k) { return warmup_cosine({.lr = 1, .min_lr = 0, .warmup = k}); }, n);
    require_rate(
        "total", [](Number k) { return warmup_cosine({.lr = 1, .min_lr = 0, .total = k}); }, n);
    require_rate(
        "warmup of stable decay",
        [](Number k) { return warmup_stable_decay({.lr = 1, .min_lr = 0, .warmup = k}); }, n);
    require_rate(
        "total of stable decay",
        [](Number k) { return warmup_stable_decay({.lr = 1, .min_lr = 0, .total = k}); }, n);
    require_rate(
        "step_size", [](Number k) { return step_decay({.lr = 1, .step_size = k, .gamma = 0.5}); }, n);
    require_rate(
        "ramp",
        [](Number k) { return linear_ramp({.lr = 1, .start_factor = 0, .end_factor = 1, .total = k}); }, n);
    require_rate(
        "half_period", [](Number k) { return cosine_annealing({.lr = 1, .min_lr = 0, .half_period = k}); },
        n);
    require_rate(
        "first_period",
        [](Number k) {
          return cosine_restarts({.lr = 1, .min_lr = 0, .first_period = k, .period_factor = 2});
        },
        n);
    require_rate(
        "period_factor",
        [](Number k) {
          return cosine_restarts({.lr = 1, .min_lr = 0, .first_period = 3, .period_factor = k});
        },
        n);
    require_rate(
        "cycle", [](Number k) { return one_cycle({.max_lr = 1, .total = k}); }, n);
  }
}

TEST_CASE("numbers of threads and of axes at the ends of 32 bits", "[fault-16]") {
  const int threads = num_threads();
  for (const int n : {std::numeric_limits<int>::min(), -1, 0})
    CHECK_THROWS_AS(set_num_threads(n), ValueError);
  set_num_threads(std::numeric_limits<int>::max());
  CHECK(num_threads() == std::numeric_limits<int>::max());
  set_num_threads(threads);
  for (const int n : {std::numeric_limits<int>::min(), -1, 9, std::numeric_limits<int>::max()}) {
    CHECK_THROWS_AS(Shape::filled(n, 1), ShapeError);
    Shape shape{1, 2};
    CHECK_THROWS_AS(shape.insert(n, 1), IndexError);
    CHECK_THROWS_AS(shape.erase(n), IndexError);
    CHECK(shape == Shape{1, 2});
  }
}

TEST_CASE("what has no room in memory says shape, dtype and bytes", "[fault-42]") {
  const auto asked = [] { zeros({1 << 20, 1 << 20}, DType::f64); };
  CHECK_THROWS_AS(asked(), OutOfMemory);
  CHECK_THROWS_AS(asked(), std::bad_alloc);
  CHECK_THROWS_WITH(asked(),
                    Catch::Contains("empty: out of memory, f64[1048576, 1048576] takes 8796093022208 bytes"));
}
