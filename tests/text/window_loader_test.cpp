#include <numeric>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/text/window_loader.h>

using Catch::Contains;
using heed::Generator;
using heed::text::Batch;
using heed::text::WindowLoader;
using heed::text::WindowOptions;
using heed::text::WindowSequence;
using Ids = std::vector<std::int64_t>;

namespace {

Ids counting(std::size_t n) {
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

TEST_CASE("targets are the inputs shifted by one") {
  const Ids tokens = counting(50);
  Generator generator(1);
  const WindowLoader loader(tokens, {.context = 8, .batch = 3}, generator);
  const Batch batch = loader.batch(0);
  CHECK(batch.inputs.shape() == heed::Shape{3, 8});
  const auto inputs = batch.inputs.to_vector<std::int64_t>();
  const auto targets = batch.targets.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK(targets[i] == inputs[i] + 1);
    if (i % 8 > 0) CHECK(inputs[i] == inputs[i - 1] + 1);
  }
}

TEST_CASE("a text of one window and its target is enough, one token less is not", "[report-44]") {
  Generator generator(1);
  const Ids tokens = counting(9);
  const WindowOptions options = {.context = 8, .batch = 2};
  const Batch only = WindowLoader(tokens, options, generator).batch(5);
  Ids twice = counting(8);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 8);
  CHECK(only.inputs.to_vector<std::int64_t>() == twice);
  const WindowSequence sequence(tokens, options);
  CHECK(sequence.windows() == 1);
  CHECK(sequence.batch(0).targets.to_vector<std::int64_t>() == Ids{1, 2, 3, 4, 5, 6, 7, 8});
  for (const std::size_t length : {0u, 1u, 8u}) {
    const Ids few = counting(length);
    const std::string have = "have " + std::to_string(length) + " tokens; expected at least 9";
    CHECK_THROWS_WITH(WindowLoader(few, options, generator), Contains(have));
    CHECK_THROWS_WITH(WindowSequence(few, options), Contains(have));
  }
}

TEST_CASE("every window can be drawn, the last too", "[report-44]") {
  const Ids tokens = counting(12);
  Generator generator(1);
  const WindowLoader loader(tokens, {.context = 8, .batch = 16}, generator);
  std::set<std::int64_t> starts;
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto inputs = loader.batch(step).inputs.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < inputs.size(); i += 8) starts.insert(inputs[i]);
  }
  CHECK(starts == std::set<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a batch depends on seed and step alone", "[report-36]") {
  const Ids tokens = counting(1000);
  const WindowOptions options = {.context = 8, .batch = 4};
  const auto draw = [&](std::uint64_t seed, std::int64_t step) {
    Generator generator(seed);
    return WindowLoader(tokens, options, generator).batch(step).inputs.to_vector<std::int64_t>();
  };
  CHECK(draw(1, 7) == draw(1, 7));
  CHECK(draw(1, 7) != draw(1, 8));
  CHECK(draw(1, 7) != draw(2, 7));
  const int threads = heed::num_threads();
  const Ids before = draw(1, 3);
  heed::set_num_threads(threads + 1);
  CHECK(draw(1, 3) == before);
  heed::set_num_threads(threads);
  Generator generator(1);
  const WindowLoader a(tokens, options, generator);
  const WindowLoader b(tokens, options, generator);
  CHECK(a.batch(0).inputs.to_vector<std::int64_t>() != b.batch(0).inputs.to_vector<std::int64_t>());
}

TEST_CASE("a sequence covers the text side by side") {
  const Ids tokens = counting(30);  // 29 targets: seven windows of 4, and one target left over
  const WindowSequence sequence(tokens, {.context = 4, .batch = 3});
  CHECK(sequence.windows() == 7);
  REQUIRE(sequence.batches() == 3);
  Ids seen;
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto inputs = sequence.batch(b).inputs.to_vector<std::int64_t>();
    seen.insert(seen.end(), inputs.begin(), inputs.end());
  }
  CHECK(seen == counting(28));
  CHECK(sequence.batch(2).inputs.shape() == heed::Shape{1, 4});
  CHECK(WindowSequence(counting(29), {.context = 4, .batch = 3}).windows() == 7);
  CHECK_THROWS_AS(sequence.batch(3), heed::IndexError);
  CHECK_THROWS_AS(sequence.batch(-1), heed::IndexError);
}

TEST_CASE("windows may begin at multiples alone") {
  const Ids tokens = counting(29);  // 0, 9 and 18 begin a window of 8 and its target; 27 does not
  const WindowOptions options = {.context = 8, .batch = 16, .every = 9};
  Generator generator(1);
  const auto inputs = WindowLoader(tokens, options, generator).batch(0).inputs.to_vector<std::int64_t>();
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < inputs.size(); i += 8) starts.insert(inputs[i]);
  CHECK(starts == std::set<std::int64_t>{0, 9, 18});
  const WindowSequence sequence(tokens, options);
  CHECK(sequence.windows() == 3);
  CHECK(sequence.batch(0).inputs.to_vector<std::int64_t>()[16] == 18);
  CHECK(WindowSequence(counting(26), options).windows() == 2);
  CHECK_THROWS_WITH(WindowSequence(tokens, {.context = 1, .batch = 1, .every = -1}), Contains("every is -1"));
}

TEST_CASE("loaders refuse sizes below one") {
  const Ids tokens = counting(30);
  Generator generator(1);
  CHECK_THROWS_WITH(WindowLoader(tokens, {.context = 0, .batch = 1}, generator), Contains("context is 0"));
  CHECK_THROWS_WITH(WindowSequence(tokens, {.context = 1, .batch = 0}), Contains("batch is 0"));
  const WindowLoader loader(tokens, {.context = 1, .batch = 1}, generator);
  CHECK_THROWS_AS(loader.batch(-1), heed::ValueError);
}
