#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include <catch2/catch.hpp>

#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/core/restore.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

static_assert(!std::is_copy_constructible_v<NoGrad> && !std::is_copy_assignable_v<NoGrad>);

TEST_CASE("a throw inside NoGrad restores the mode", "[grad_mode]") {
  REQUIRE(grad_enabled());
  const auto guarded = [] {
    const NoGrad guard;
    CHECK_FALSE(grad_enabled());
    throw std::runtime_error("inside");
  };
  CHECK_THROWS_AS(guarded(), std::runtime_error);
  CHECK(grad_enabled());
}

TEST_CASE("modes nest", "[grad_mode]") {
  {
    const NoGrad off;
    {
      const GradMode on(true);
      CHECK(grad_enabled());
      {
        const NoGrad off_again;
        CHECK_FALSE(grad_enabled());
      }
      CHECK(grad_enabled());
    }
    CHECK_FALSE(grad_enabled());
    { const NoGrad twice; }
    CHECK_FALSE(grad_enabled());
  }
  CHECK(grad_enabled());
}

TEST_CASE("a thread starts with gradients on whatever its parent does", "[grad_mode]") {
  const NoGrad guard;
  bool at_start = false;
  std::thread([&] {
    at_start = grad_enabled();
    const NoGrad own;
  }).join();
  CHECK(at_start);
  CHECK_FALSE(grad_enabled());
}

TEST_CASE("a guard of one thread leaves the others alone", "[grad_mode]") {
  std::promise<void> guarded;
  std::promise<void> seen;
  std::thread other([&] {
    const NoGrad guard;
    guarded.set_value();
    seen.get_future().wait();
  });
  guarded.get_future().wait();
  CHECK(grad_enabled());
  seen.set_value();
  other.join();
}

TEST_CASE("under NoGrad nothing is recorded, parallel loops or not", "[grad_mode]") {
  Tensor x = leaf(ones({100000}, DType::f64));
  const auto before = tape_stats().live_nodes;
  const int former = num_threads();
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    const NoGrad guard;
    const Tensor y = accumulate(x, x);
    CHECK_FALSE(y.requires_grad());
    CHECK(y.is_leaf());
    CHECK(tape_stats().live_nodes == before);
    CHECK_FALSE(will_record({&x}));
  }
  set_num_threads(former);
  CHECK(will_record({&x}));
}

TEST_CASE("under NoGrad the payload is not even made", "[grad_mode]") {
  Tensor x = leaf(1.0);
  Tensor y = copy_of(x);
  int made = 0;
  const auto make = [&] {
    ++made;
    return ScaleVjp{};
  };
  {
    const NoGrad guard;
    record("op", {&x}, y, make);
  }
  const Tensor constant = scalar(1.0);
  record("op", {&constant}, y, make);
  CHECK(made == 0);
  record("op", {&x}, y, make);
  CHECK(made == 1);
}

TEST_CASE("a leaf made under NoGrad is a leaf", "[grad_mode]") {
  Tensor x;
  {
    const NoGrad guard;
    x = leaf(2.0);
  }
  backward(mul(x, x));
  CHECK(x.grad().item<double>() == 4);
}

TEST_CASE("a former value is put back at the end of the scope, exceptions included", "[restore]") {
  std::string variable = "before";
  {
    const Restore within(variable, std::string("within"));
    CHECK(variable == "within");
    variable = "changed";
  }
  CHECK(variable == "before");
  const auto throwing = [&] {
    const Restore within(variable, std::string("within"));
    throw 1;
  };
  CHECK_THROWS_AS(throwing(), int);
  CHECK(variable == "before");
}
