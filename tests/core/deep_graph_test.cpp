#include <cmath>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <pthread.h>

#include <heed/core/node.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

// Runs `body` in a thread whose stack has room for a few hundred calls.
template <class Body>
void on_small_stack(Body body) {
  constexpr std::size_t stack_bytes = 256 * 1024;
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                (*static_cast<Body*>(argument))();
                return nullptr;
              },
              &body) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

// y ← y + 1e-6 y, two nodes a step
Tensor chain(const Tensor& x, int steps) {
  Tensor y = x;
  for (int i = 0; i < steps; ++i) y = accumulate(y, scale(y, 1e-6));
  return y;
}

// The same chain, each node of which keeps its operands alive.
Tensor saving_chain(const Tensor& x, int steps) {
  const Tensor factor = full(x.shape(), 1 + 1e-6, DType::f64);
  Tensor y = x;
  for (int i = 0; i < steps; ++i) y = mul(y, factor);
  return y;
}

constexpr int steps = 500000;  // a chain of a million nodes

}  // namespace

TEST_CASE("a million nodes: backward gives the right value", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  double value = 0;
  double gradient = 0;
  std::int64_t nodes = 0;
  on_small_stack([&] {
    Tensor x = leaf(ones({9}, DType::f64));
    const Tensor y = chain(x, steps);
    nodes = tape_stats().live_nodes - before;
    value = y.to_vector<double>()[8];
    backward(sum(y));
    gradient = x.grad().to_vector<double>()[8];
  });
  CHECK(nodes == 2 * steps + 1);
  CHECK(tape_stats().live_nodes == before);
  // (1 + 1e-6)^500000; as many roundings of 1e-16 stay below 1e-10, and the report asks for 1e-6.
  const double wanted = std::exp(steps * std::log1p(1e-6));
  CHECK(value == Approx(wanted).epsilon(1e-6));
  CHECK(gradient == Approx(wanted).epsilon(1e-6));
  CHECK(wanted == Approx(1.6487208).epsilon(1e-6));
}

TEST_CASE("a deep graph is dropped on a small stack", "[deep_graph]") {
  const auto before = tape_stats();
  on_small_stack([] {
    Tensor x = leaf(1.0);
    Tensor y = chain(x, steps);
    y = Tensor();
  });
  CHECK(tape_stats().live_nodes == before.live_nodes);
}

TEST_CASE("a deep graph whose nodes save their operands is dropped, too", "[deep_graph]") {
  const auto before = tape_stats();
  on_small_stack([] {
    Tensor x = leaf(1.0);
    Tensor y = saving_chain(x, steps);
    x = Tensor();
    y = Tensor();
  });
  CHECK(tape_stats().live_nodes == before.live_nodes);
  CHECK(tape_stats().saved_bytes == before.saved_bytes);
}

TEST_CASE("an exception past a deep graph frees it", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  bool caught = false;
  on_small_stack([&] {
    try {
      Tensor x = leaf(1.0);
      const Tensor y = chain(x, steps);
      throw std::runtime_error("past it");
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  CHECK(caught);
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("a backward that throws at the far end of a deep graph", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  bool caught = false;
  on_small_stack([&] {
    Tensor x = leaf(scalar(1.0));
    Tensor start = exp(x);
    const Tensor y = saving_chain(start, steps / 5);
    start.detach().fill_(0);
    try {
      backward(y);
    } catch (const GradError&) {
      caught = true;
    }
  });
  CHECK(caught);
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("deep siblings, joined at both ends", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  double gradient = 0;
  on_small_stack([&] {
    Tensor x = leaf(1.0);
    Tensor y = chain(x, 100000);
    for (int i = 0; i < 4; ++i) y = accumulate(y, chain(x, 100000));
    backward(y);
    gradient = x.grad().item<double>();
  });
  CHECK(gradient == Approx(5 * std::exp(100000 * std::log1p(1e-6))).epsilon(1e-9));  // see above
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("a very wide graph", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  double gradient = 0;
  on_small_stack([&] {
    Tensor x = leaf(1.0);
    std::vector<Tensor> parts;
    for (int i = 0; i < 100000; ++i) parts.push_back(scale(x, 1));
    Tensor total = scalar(0.0);
    record("sum_of_parts", std::span<const Tensor>(parts), total, [&] {
      struct Vjp {
        int count = 0;
        void vjp(VjpContext& context) const {
          for (int i = 0; i < count; ++i) context.set(i, context.cotangent());
        }
      };
      return Vjp{static_cast<int>(parts.size())};
    });
    parts.clear();
    backward(total);
    gradient = x.grad().item<double>();
  });
  CHECK(gradient == 100000);
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("the deep graph of a recorded backward", "[deep_graph]") {
  const auto before = tape_stats().live_nodes;
  double second = 0;
  on_small_stack([&] {
    Tensor x = leaf(1.0);
    const Tensor y = mul(saving_chain(x, 50000), x);
    second = grad(grad(y, x, {.create_graph = true}), x).item<double>();
  });
  CHECK(second == Approx(2 * std::exp(50000 * std::log1p(1e-6))).epsilon(1e-9));  // y = c x²
  CHECK(tape_stats().live_nodes == before);
}
