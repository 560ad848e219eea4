#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include <heed/core/tape_clock.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// y = x, in 10 ms forward and 30 backward.
struct SlowVjp {
  void vjp(VjpContext& context) const {
    wait(30);
    context.set(0, context.cotangent());
  }
};

Tensor slow(const Tensor& x) {
  wait(10);
  Tensor y = map_elements(x, [](double v) { return v; });
  record("slow", {&x}, y, [] { return SlowVjp{}; });
  return y;
}

}  // namespace

// A sleep may last longer than asked for, never shorter, so only lower bounds and what is
// left out are certain.
TEST_CASE("the clock tells operations apart, forward and backward", "[clock]") {
  const Tensor x = leaf(zeros({2}, DType::f64));
  TapeClock clock;
  const Tensor unseen = slow(zeros({2}, DType::f64));  // not recorded: counts to what follows
  const Tensor y = scale(x, 2);
  wait(10);
  clock.restart();
  const Tensor z = sum(slow(slow(y)));
  wait(100);
  backward(z);
  REQUIRE(clock.rows().size() == 3);
  const ClockRow &first = clock.rows()[0], &second = clock.rows()[1], &third = clock.rows()[2];
  CHECK(first.op == "scale");
  CHECK(first.nodes == 1);
  CHECK(first.forward >= 0.010);
  CHECK(second.op == "slow");
  CHECK(second.nodes == 2);
  CHECK(second.forward >= 0.020);
  CHECK(second.backward >= 0.060);
  CHECK(third.op == "sum");
  CHECK(third.backward < 0.1);  // the wait before the walk is nobody's
}

TEST_CASE("only the innermost clock runs, and only while it lives", "[clock]") {
  const Tensor x = leaf(zeros({2}, DType::f64));
  const TapeClock outer;
  Tensor y;
  {
    const TapeClock inner;
    y = scale(x, 2);
    CHECK(inner.rows().size() == 1);
  }
  CHECK(outer.rows().empty());
  backward(sum(y));
  CHECK(outer.rows().size() == 2);  // the backward of scale, and sum
}
