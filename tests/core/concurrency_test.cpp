#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/node.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/core/scope.h>
#include <heed/tests/support/user_threads.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

std::vector<double> train(int seed, int iterations) {
  Generator generator(static_cast<std::uint64_t>(seed));
  Tensor w = leaf(randn({50}, generator, DType::f64));
  const Tensor x = randn({50}, generator, DType::f64);
  for (int i = 0; i < iterations; ++i) {
    const Tensor hidden = heed::test::exp(scale(mul(x, w), 0.1));
    backward(sum(mul(hidden, hidden)));
  }
  return w.grad().to_vector<double>();
}

}  // namespace

TEST_CASE("eight threads with graphs of their own", "[concurrency]") {
  const auto before = tape_stats();
  std::vector<std::vector<double>> wanted;
  for (int i = 0; i < user_threads; ++i) wanted.push_back(train(i, 200));
  CHECK(failures([&](int i) { return train(i, 200) == wanted[static_cast<std::size_t>(i)]; }) == 0);
  CHECK(tape_stats().live_nodes == before.live_nodes);
  CHECK(tape_stats().saved_bytes == before.saved_bytes);
}

TEST_CASE("eight threads accumulate into one leaf", "[concurrency]") {
  Tensor w = leaf(tensor({1.0, 2.0, 3.0}));
  constexpr int rounds = 300;
  const auto body = [&](int i) {
    for (int k = 0; k < rounds; ++k) backward(sum(scale(w, i + 1)));
    return true;
  };
  CHECK(failures(body) == 0);
  const double wanted = rounds * 36;  // 1 + … + 8 a round; whole numbers, so any order is exact
  CHECK(w.grad().to_vector<double>() == std::vector<double>{wanted, wanted, wanted});
}

TEST_CASE("eight threads share one model for inference", "[concurrency]") {
  Tensor w = leaf(tensor({1.0, 2.0, 3.0}));
  const std::vector<double> wanted = heed::test::exp(mul(w, w)).to_vector<double>();
  const auto body = [&](int i) {
    for (int k = 0; k < 300; ++k) {
      const GradMode mode(i % 2 == 0);
      const Tensor y = heed::test::exp(mul(w, w));
      if (y.requires_grad() != (i % 2 == 0) || y.to_vector<double>() != wanted) return false;
    }
    return true;
  };
  CHECK(failures(body) == 0);
}

TEST_CASE("eight threads share a part of a retained graph", "[concurrency]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const auto body = [&](int i) {
    for (int k = 0; k < 100; ++k) {
      if (grad(scale(h, i), x, {.retain_graph = true}).item<double>() != 6.0 * i) return false;
    }
    return true;
  };
  CHECK(failures(body) == 0);
}

TEST_CASE("graphs are dropped by other threads than made them", "[concurrency]") {
  const auto nodes = tape_stats().live_nodes;
  const auto live = memory_stats().live;
  std::vector<Tensor> made(user_threads);
  const auto make = [&](int i) {
    Tensor y = leaf(zeros({200}, DType::f64));
    for (int k = 0; k < 1000; ++k) y = scale(y, 1);
    made[static_cast<std::size_t>(i)] = y;
    return true;
  };
  const auto drop = [&](int i) {
    made[static_cast<std::size_t>((i + 1) % user_threads)] = Tensor();
    return true;
  };
  for (int round = 0; round < 20; ++round) {
    REQUIRE(failures(make) == 0);
    REQUIRE(failures(drop) == 0);
  }
  CHECK(tape_stats().live_nodes == nodes);
  CHECK(memory_stats().live == live);
}

TEST_CASE("eight threads each run parallel loops", "[concurrency]") {
  const auto body = [](int i) {
    for (int k = 0; k < 20; ++k) {
      const Tensor x = full({100000}, i, DType::f64);
      const Tensor y = accumulate(x, x);
      const double* values = y.data<double>();
      for (std::int64_t j = 0; j < y.numel(); ++j) {
        if (values[j] != 2 * i) return false;
      }
    }
    return true;
  };
  CHECK(failures(body) == 0);
}

TEST_CASE("the allocator serves eight threads while its cache is emptied", "[concurrency]") {
  const auto live = memory_stats().live;
  const auto body = [](int i) {
    for (int k = 0; k < 300; ++k) {
      const Tensor x = full({1000 + 100 * (k % 7)}, i, DType::f64);
      if (k % 50 == 0) release_cached();
      if (x.data<double>()[x.numel() - 1] != i) return false;
    }
    return true;
  };
  CHECK(failures(body) == 0);
  CHECK(memory_stats().live == live);
}

TEST_CASE("scopes are per thread, and nest", "[scope]") {
  CHECK(current_scope() == nullptr);
  const Scope outer("blocks");
  const auto body = [](int i) {
    if (current_scope() != nullptr) return false;
    const Scope number(std::to_string(i));
    const Scope name("attention");
    return current_scope()->path() == std::to_string(i) + ".attention";
  };
  CHECK(failures(body) == 0);
  const auto* first = [] {
    const Scope inner("0");
    return current_scope();
  }();
  {
    const Scope inner("0");
    CHECK(current_scope() == first);
    CHECK(current_scope()->path() == "blocks.0");
    Tensor y = scale(leaf(1.0), 2);
    CHECK(y.impl()->node->scope() == first);
  }
  CHECK(current_scope()->path() == "blocks");
}
