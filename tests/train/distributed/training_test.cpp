// Training spread over ranks is training in one process.
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/nn/causal_lm.h>
#include <heed/ops/slice.h>
#include <heed/optim/adamw.h>
#include <heed/optim/clip.h>
#include <heed/train/accumulate_gradients.h>
#include <heed/train/evaluate.h>

#include "world.h"

namespace optim = heed::optim;
namespace text = heed::text;
namespace train = heed::train;
using heed::nn::CausalLM;

namespace {

constexpr std::int64_t context_size = 12;

std::vector<std::int64_t> some_tokens() {
  std::vector<std::int64_t> tokens(2000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>((i * i + i / 7) % 11);
  return tokens;
}

CausalLM make_model(std::uint64_t seed) {
  heed::Generator random(seed);
  return {{.vocab_size = 11, .context = context_size, .num_layers = 2, .num_heads = 2, .embed_dim = 16},
          random};
}

// 100 samples in batches of 11: nine whole ones, and one of a single row.
text::Batch uneven_batch(const std::vector<std::int64_t>& tokens, std::int64_t number, heed::Share share) {
  const auto part = [&](const heed::Tensor& x) {
    const std::int64_t rows = x.size(0);
    return heed::narrow(x, 0, share.first(rows), share.count(rows));
  };
  const text::WindowSequence whole(std::span<const std::int64_t>(tokens).first(100 * context_size + 1),
                                   {.context = context_size, .batch = 11});
  REQUIRE(whole.windows() == 100);
  const text::Batch batch = whole.batch(number % whole.batches());
  return {part(batch.inputs), part(batch.targets)};
}

struct Result {
  std::vector<double> losses;
  heed::nn::NamedTensors weights;
};

// `batches(step)` are this process's parts. Alone: as if there were no other rank.
template <class Batches>
Result train_model(int steps, bool alone, const Batches& batches, std::uint64_t seed = 1) {
  CausalLM model = make_model(seed);
  const auto parameters = model.named_parameters();
  optim::AdamW optimizer(parameters, {.lr = 3e-3, .weight_decay = 0.1});
  if (!alone) world().broadcast(parameters);
  train::distributed::GradientReducer reducer(parameters, world(), {.bucket_bytes = 4096});
  const auto loss_of = [&](const text::Batch& batch) { return train::batch_loss(model, batch); };
  Result result;
  for (int step = 0; step < steps; ++step) {
    const std::vector<text::Batch> parts = batches(step);
    const auto loss = alone ? train::accumulate_gradients(parts, loss_of)
                            : train::accumulate_gradients(parts, loss_of, reducer);
    optim::clip_grad_norm(parameters, 0.5);
    optimizer.step();
    optimizer.zero_grad();
    result.losses.push_back(loss.loss);
  }
  for (const auto& [name, parameter] : parameters) result.weights.emplace_back(name, parameter.detach());
  return result;
}

// Float32 gradients of rows that are summed in another order differ by a rounding, 6e-8, and the losses after
// 50 steps by several: the house's 5e-7.
void check_losses(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i, a[i], b[i]);
    CHECK(std::abs(a[i] - b[i]) <= 5e-7 * b[i]);
  }
}

bool same_bits(const Result& a, const Result& b) {
  if (a.losses != b.losses) return false;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    if (a.weights[i].second.to_vector<float>() != b.weights[i].second.to_vector<float>()) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a batch of 48 on one rank and on all of them: the same 50 losses, weights and bits",
          "[report-50]") {
  const auto tokens = some_tokens();
  const auto batches = [&](std::int64_t parts, heed::Share share) {
    return [&tokens, parts, share](int step) {
      heed::Generator random(3);
      const text::WindowLoader loader(std::span<const std::int64_t>(tokens),
                                      {.context = context_size, .batch = 48 / parts, .share = share}, random);
      std::vector<text::Batch> result;
      for (std::int64_t i = 0; i < parts; ++i) result.push_back(loader.batch(step * parts + i));
      return result;
    };
  };
  for (const std::int64_t parts : {1, 3}) {
    const Result alone = train_model(50, true, batches(parts, {}));
    const Result together = train_model(50, false, batches(parts, world().share()));
    check_losses(together.losses, alone.losses);
    CHECK(together.losses.back() < 0.9 * together.losses.front());
    CHECK_NOTHROW(world().check_equal(together.weights));
    CHECK(same_bits(together, train_model(50, false, batches(parts, world().share()))));
  }
}

TEST_CASE("100 samples in batches of 11 on any number of ranks", "[report-50]") {
  const auto tokens = some_tokens();
  const auto batches = [&](heed::Share share) {
    return [&tokens, share](int step) { return std::vector{uneven_batch(tokens, step, share)}; };
  };
  const Result alone = train_model(20, true, batches({}));
  const Result together = train_model(20, false, batches(world().share()));
  check_losses(together.losses, alone.losses);
  CHECK_NOTHROW(world().check_equal(together.weights));
}

TEST_CASE("models of differing seeds are one after the broadcast, and 20 steps later", "[report-50]") {
  const auto tokens = some_tokens();
  const auto seed = 10 + static_cast<std::uint64_t>(world().rank());
  if (world().size() > 1) {
    CHECK_THROWS_AS(world().check_equal(make_model(seed).named_parameters()), heed::ValueError);
  }
  const auto batches = [&](int step) { return std::vector{uneven_batch(tokens, step, world().share())}; };
  const Result together = train_model(20, false, batches, seed);
  CHECK_NOTHROW(world().check_equal(together.weights));
  const Result alone = train_model(
      20, true, [&](int step) { return std::vector{uneven_batch(tokens, step, {})}; }, 10);
  check_losses(together.losses, alone.losses);
}

TEST_CASE("tokens that do not count, unlike from rank to rank, weigh nothing", "[report-50]") {
  const auto tokens = some_tokens();
  const auto batch = [&](heed::Share share) {
    auto result = uneven_batch(tokens, 0, share);
    auto targets = result.targets.to_vector<std::int64_t>();
    const std::int64_t first = share.first(11) * context_size;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto place = first + static_cast<std::int64_t>(i);
      if (place * place % 5 < 3) targets[i] = text::no_target;
    }
    result.targets = heed::from_span(std::span<const std::int64_t>(targets), result.targets.shape());
    return std::vector{result};
  };
  const Result alone = train_model(5, true, [&](int) { return batch({}); });
  const Result together = train_model(5, false, [&](int) { return batch(world().share()); });
  check_losses(together.losses, alone.losses);
}

TEST_CASE("the validation loss of all ranks is that of one", "[report-50]") {
  const auto tokens = some_tokens();
  CausalLM model = make_model(1);
  const text::WindowSequence windows(std::span<const std::int64_t>(tokens),
                                     {.context = context_size, .batch = 5});
  // The same batches, added up in another order in double.
  CHECK(train::mean_loss(model, windows, &world()) ==
        Approx(train::mean_loss(model, windows)).epsilon(1e-12));
}
