// Long graphs of real operations, walked and dropped on a stack of 256 KiB.
#include <functional>

#include <catch2/catch.hpp>
#include <pthread.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/node.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/concat.h>

using namespace heed;

namespace {

void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread{};
  const auto run = [](void* f) -> void* {
    (*static_cast<std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &body) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("a chain of a million operations") {
  const std::int64_t before = tape_stats().live_nodes;
  double gradient = 0;
  on_small_stack([&] {
    Tensor x = tensor({1.0, 2.0}).set_requires_grad();
    Tensor y = x;
    for (int i = 0; i < 1000000; ++i) y = add(y, 1e-6);
    backward(y, {.cotangent = ones({2}, DType::f64)});
    gradient = x.grad().to_vector<double>()[1];
    Tensor dropped = x;
    for (int i = 0; i < 1000000; ++i) dropped = add(dropped, 1e-6);
  });
  REQUIRE(gradient == 1);
  REQUIRE(tape_stats().live_nodes == before);
}

TEST_CASE("200 000 times a tensor split and joined again") {
  const std::int64_t before = tape_stats().live_nodes;
  std::vector<double> gradient;
  on_small_stack([&] {
    Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).set_requires_grad();
    const auto chain = [&] {
      Tensor y = x;
      for (int i = 0; i < 200000; ++i) y = concat(split(y, 2));
      return y;
    };
    backward(chain(), {.cotangent = tensor({1.0, 2.0, 3.0, 4.0})});
    gradient = x.grad().to_vector<double>();
    chain();
  });
  REQUIRE(gradient == std::vector<double>{1, 2, 3, 4});
  REQUIRE(tape_stats().live_nodes == before);
}
