#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/node.h>
#include <heed/core/random.h>
#include <heed/tests/support/resident.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

struct Net {
  Tensor w1;
  Tensor w2;

  Net() {
    Generator generator(1);
    w1 = leaf(randn({200}, generator, DType::f64));
    w2 = leaf(randn({200}, generator, DType::f64));
  }
  // Throws between its layers where asked to.
  Tensor loss(const Tensor& x, bool fail = false) const {
    const Tensor hidden = exp(scale(mul(x, w1), 0.01));
    if (fail) throw std::runtime_error("half way");
    const Tensor y = mul(hidden, w2);
    return sum(mul(y, y));
  }
  void step() {
    const NoGrad guard;
    for (Tensor* w : {&w1, &w2}) {
      double* values = w->mutable_data<double>();
      const Tensor gradient = w->grad();
      const double* g = gradient.data<double>();
      for (std::int64_t i = 0; i < w->numel(); ++i) values[i] -= 1e-6 * g[i];
      w->zero_grad();
    }
  }
};

template <class Iteration>
void require_steady(Iteration&& iteration) {
  const TapeStats nodes = tape_stats();
  const std::int64_t live = memory_stats().live;
  std::int64_t early = 0;
  for (int i = 1; i <= 20000; ++i) {
    iteration();
    if (tape_stats().live_nodes != nodes.live_nodes) FAIL("nodes left after iteration " << i);
    if (i == 200) early = resident_bytes();
  }
  CHECK(tape_stats().saved_bytes == nodes.saved_bytes);
  CHECK(memory_stats().live == live);
  if (!sanitized) CHECK(resident_bytes() - early < (2 << 20));
}

}  // namespace

TEST_CASE("training a small net does not grow", "[memory]") {
  Net net;
  const Tensor x = ones({200}, DType::f64);
  net.loss(x);
  const double before = net.loss(x).item<double>();
  require_steady([&] {
    backward(net.loss(x));
    net.step();
  });
  CHECK(net.loss(x).item<double>() < before);
}

TEST_CASE("training bare scalars does not grow", "[memory]") {
  Tensor w = leaf(3.0);
  require_steady([&] {
    backward(mul(w, w));
    w.zero_grad();
  });
}

TEST_CASE("accumulating into one gradient does not grow", "[memory]") {
  Net net;
  const Tensor x = ones({200}, DType::f64);
  backward(net.loss(x));
  require_steady([&] { backward(net.loss(x)); });
}

TEST_CASE("a forward that throws half way leaves nothing", "[memory]") {
  const Net net;
  const Tensor x = ones({200}, DType::f64);
  require_steady([&] { CHECK_THROWS_AS(net.loss(x, true), std::runtime_error); });
}

TEST_CASE("forward without backward leaves nothing", "[memory]") {
  const Net net;
  const Tensor x = ones({200}, DType::f64);
  require_steady([&] { net.loss(x); });
}

TEST_CASE("second derivatives leave nothing", "[memory]") {
  const Net net;
  const Tensor x = ones({200}, DType::f64);
  require_steady([&] {
    const Tensor g = grad(net.loss(x), net.w1, {.create_graph = true});
    backward(sum(mul(g, g)));
    Tensor(net.w1).zero_grad();
    Tensor(net.w2).zero_grad();
  });
}

TEST_CASE("a retained graph that is dropped leaves nothing", "[memory]") {
  Tensor w = leaf(3.0);
  require_steady([&] {
    const Tensor y = exp(mul(w, w));
    backward(y, {.retain_graph = true});
    backward(y, {.retain_graph = true});
    w.zero_grad();
  });
}

TEST_CASE("backward frees what was saved as soon as it ran", "[memory]") {
  Net net;
  const TapeStats before = tape_stats();
  const Tensor loss = net.loss(ones({200}, DType::f64));
  // x, w1; e^h; hidden, w2; y, y: seven operands of 200 doubles
  CHECK(tape_stats().saved_bytes - before.saved_bytes == 7 * 200 * 8);
  backward(loss);
  CHECK(tape_stats().saved_bytes == before.saved_bytes);
  CHECK(tape_stats().live_nodes > before.live_nodes);  // the nodes themselves go with the loss
}
