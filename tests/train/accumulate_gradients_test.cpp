#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/linear.h>
#include <heed/ops/transpose.h>
#include <heed/train/accumulate_gradients.h>

using heed::Tensor;
using heed::text::Batch;
using heed::train::accumulate_gradients;

namespace {

Batch targets_only(const std::vector<std::int64_t>& targets) {
  const Tensor t = heed::from_span<std::int64_t>(targets, {1, static_cast<std::int64_t>(targets.size())});
  return {t, t};
}

}  // namespace

TEST_CASE("the mean loss of parts weighs every token alike", "[report-32]") {
  Tensor scale = heed::scalar(1.0).set_requires_grad();
  // The "loss" of a token is its target, times a parameter.
  const auto loss = [&](const Batch& batch) {
    double sum = 0;
    const auto targets = batch.targets.to_vector<std::int64_t>();
    std::int64_t counted = 0;
    for (const auto t : targets) {
      if (t >= 0) sum += static_cast<double>(t), ++counted;
    }
    return scale * (sum / static_cast<double>(counted));
  };
  const std::vector<Batch> parts = {targets_only({1, 2, 3}), targets_only({-100, -100}),
                                    targets_only({10, -100})};
  const auto result = accumulate_gradients(parts, loss);
  CHECK(result.tokens == 4);
  CHECK(result.loss == Approx(4.0).epsilon(1e-15));
  CHECK(scale.grad().item<double>() == Approx(4.0).epsilon(1e-15));
  const std::vector<Batch> none = {targets_only({-100})};
  CHECK(accumulate_gradients(none, loss).tokens == 0);
  CHECK(accumulate_gradients(none, loss).loss == 0);
  CHECK(scale.grad().item<double>() == Approx(4.0).epsilon(1e-15));
}

TEST_CASE("a batch in parts has the gradients of the whole", "[report-32]") {
  heed::Generator random(1);
  const Tensor features = heed::randn({12, 5}, random, heed::DType::f64);
  Tensor weight = heed::randn({7, 5}, random, heed::DType::f64).set_requires_grad();
  std::vector<std::int64_t> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::int64_t> targets = {6, 0, -100, 3, 2, 2, -100, -100, 1, 5, 4, 0};
  const auto part = [&](std::size_t begin, std::size_t end) {
    const auto take = [&](const std::vector<std::int64_t>& from) {
      const auto n = static_cast<std::int64_t>(end - begin);
      return heed::from_span(std::span<const std::int64_t>(from).subspan(begin, end - begin), {n});
    };
    return Batch{take(ids), take(targets)};
  };
  const auto loss = [&](const Batch& batch) {
    const auto places = batch.inputs.to_vector<std::int64_t>();
    Tensor chosen = heed::zeros({static_cast<std::int64_t>(places.size()), 12}, heed::DType::f64);
    for (std::size_t i = 0; i < places.size(); ++i) {
      chosen.mutable_data<double>()[i * 12 + static_cast<std::size_t>(places[i])] = 1;
    }
    return heed::cross_entropy(heed::linear(heed::linear(chosen, heed::transpose(features)), weight),
                               batch.targets);
  };
  const std::vector<Batch> whole = {part(0, 12)};
  const auto expected = accumulate_gradients(whole, loss);
  const auto gradient = weight.grad().to_vector<double>();
  weight.zero_grad();
  const std::vector<Batch> parts = {part(0, 5), part(5, 6), part(6, 8), part(8, 12)};
  const auto result = accumulate_gradients(parts, loss);
  CHECK(result.tokens == 9);
  // sums in another order
  CHECK(result.loss == Approx(expected.loss).epsilon(1e-12));
  const auto got = weight.grad().to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(gradient[i]).epsilon(1e-12).margin(1e-15));
}
