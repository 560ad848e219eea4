#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/node.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Message;

namespace {

using Values = std::vector<double>;

// A hook that writes down what it sees.
GradientHook noting(Values& seen) {
  return [&seen](const Tensor& gradient) {
    seen.push_back(gradient.item<double>());
    return Tensor();
  };
}

}  // namespace

TEST_CASE("a hook sees the complete gradient once", "[hooks]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y = accumulate(scale(h, 2), scale(h, 5));
  Values of_h;
  Values of_x;
  Values of_y;
  h.register_hook(noting(of_h));
  x.register_hook(noting(of_x));
  y.register_hook(noting(of_y));
  backward(y, {.retain_graph = true});
  CHECK(of_y == Values{1});
  CHECK(of_h == Values{7});
  CHECK(of_x == Values{42});
  CHECK(grad(y, h, {.retain_graph = true}).item<double>() == 7);
  CHECK(of_h == Values{7, 7});
  CHECK(of_x == Values{42});  // not reached
  CHECK(grad(y, x).item<double>() == 42);
  CHECK(of_x == Values{42, 42});
}

TEST_CASE("hooks replace the gradient in the order of registration", "[hooks]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y = scale(h, 1);
  h.register_hook([](const Tensor& g) { return scale(g, 10); });
  h.register_hook([](const Tensor& g) { return accumulate(g, scalar(1.0)); });
  CHECK(grad(y, h, {.retain_graph = true}).item<double>() == 11);
  x.register_hook([](const Tensor& g) { return scale(g, -1); });
  backward(y);
  CHECK(x.grad().item<double>() == -66);
}

TEST_CASE("a removed hook is not called, and may remove itself", "[hooks]") {
  Tensor x = leaf(3.0);
  Values seen;
  Values once;
  HookHandle handle = x.register_hook(noting(seen));
  HookHandle own;
  own = x.register_hook([&](const Tensor& g) {
    once.push_back(g.item<double>());
    own.remove();
    return Tensor();
  });
  backward(scale(x, 2));
  handle.remove();
  handle.remove();
  backward(scale(x, 2));
  CHECK(seen == Values{2});
  CHECK(once == Values{2});
  HookHandle().remove();
}

TEST_CASE("hooks see one output of several", "[hooks]") {
  Tensor x = leaf(1.0);
  const auto [twice, thrice] = double_and_triple(x);
  Values of_twice;
  Values of_thrice;
  twice.register_hook(noting(of_twice));
  thrice.register_hook(noting(of_thrice));
  backward(scale(thrice, 4));
  CHECK(of_twice.empty());
  CHECK(of_thrice == Values{4});
}

TEST_CASE("with create_graph a hook is differentiated", "[hooks]") {
  Tensor x = leaf(2.0);
  const Tensor y = mul(x, x);
  y.register_hook([&](const Tensor& g) { return mul(g, g); });  // u² instead of u
  Tensor u = leaf(3.0);
  const Tensor first = grad(y, x, {.grad_outputs = {u}, .create_graph = true});  // u² 2x
  CHECK(first.item<double>() == 36);
  CHECK(grad(first, u).item<double>() == 24);
}

TEST_CASE("hooks of handles on the same result are the same", "[hooks]") {
  Tensor x = leaf(0.0);
  const Tensor y = heed::test::exp(x);
  const Tensor copy = y;  // NOLINT(performance-unnecessary-copy-initialization): another handle
  Values seen;
  copy.register_hook(noting(seen));
  backward(y);
  CHECK(seen == Values{1});
}

TEST_CASE("hooks refuse misuse by name", "[hooks]") {
  const auto keep = [](const Tensor&) { return Tensor(); };
  CHECK_THROWS_MATCHES(tensor({1.0, 2.0}).register_hook(keep), GradError,
                       Message("register_hook: tensor does not require grad, f64[2]; expected a leaf that "
                               "requires grad or a result of recorded operations"));
  CHECK_THROWS_MATCHES(Tensor().register_hook(keep), ValueError,
                       Message("register_hook: tensor is undefined; expected a tensor (there is none for a "
                               "gradient before backward or a part that is off)"));
  Tensor x = leaf(1.0);
  CHECK_THROWS_MATCHES(x.register_hook({}), ValueError,
                       Message("register_hook: hook is empty; expected a function"));
  CHECK_THROWS_MATCHES(x.register_stored_hook({}), ValueError,
                       Message("register_stored_hook: hook is empty; expected a function"));
  CHECK_THROWS_MATCHES(
      scale(x, 2).register_stored_hook([](const Tensor&) {}), GradError,
      Message("register_stored_hook: tensor is no leaf that requires grad, f64[]; expected a leaf"));
}

TEST_CASE("a replacement of another shape or dtype names the operation", "[hooks]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  SECTION("shape, on a result") {
    const Tensor y = scale(x, 2);
    y.register_hook([](const Tensor&) { return scalar(1.0); });
    CHECK_THROWS_MATCHES(
        backward(sum(y)), GradError,
        Message("scale: a hook returned a gradient of another shape or dtype, f64[]; expected f64[2]"));
  }
  SECTION("dtype, on a leaf") {
    x.register_hook([](const Tensor&) { return tensor({1.f, 2.f}); });
    CHECK_THROWS_MATCHES(
        backward(sum(x)), GradError,
        Message("leaf: a hook returned a gradient of another shape or dtype, f32[2]; expected f64[2]"));
  }
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a leaf is finished when its last consumer has run", "[hooks]") {
  Tensor deep = leaf(1.0);
  Tensor late = leaf(1.0);
  std::vector<std::string> order;
  const auto note = [&](const char* name) {
    return [&order, name](const Tensor& g) {
      order.push_back(std::string(name) + " " + std::to_string(static_cast<int>(g.item<double>())));
    };
  };
  const Tensor first = scale(deep, 2);
  const Tensor second = mul(first, late);
  const Tensor third = mul(second, late);
  first.register_hook([&](const Tensor& g) {
    note("first")(g);
    CHECK(late.grad().item<double>() == 4);  // d/dlate of 2·deep·late², stored already
    CHECK_FALSE(deep.grad().defined());
    return Tensor();
  });
  late.register_stored_hook(note("late"));
  deep.register_stored_hook(note("deep"));
  backward(third);
  CHECK(order == std::vector<std::string>{"late 4", "first 1", "deep 2"});
}

TEST_CASE("a stored hook sees and may change the accumulated gradient", "[hooks]") {
  Tensor x = leaf(1.0);
  Values seen;
  x.register_stored_hook([&](const Tensor& gradient) {
    seen.push_back(gradient.item<double>());
    Tensor own = gradient;
    own.fill_(100);
  });
  backward(scale(x, 2));
  backward(scale(x, 3));
  CHECK(seen == Values{2, 103});
  CHECK(x.grad().item<double>() == 100);
  grad(scale(x, 2), x);
  CHECK(seen.size() == 2);  // grad stores nothing
}

TEST_CASE("a leaf that is also an output waits for its consumers", "[hooks]") {
  Tensor x = leaf(3.0);
  Values seen;
  x.register_stored_hook([&](const Tensor& g) { seen.push_back(g.item<double>()); });
  const Tensor outputs[] = {scale(x, 2), x};
  const Tensor inputs[] = {x};
  CHECK(grad(outputs, inputs)[0].item<double>() == 3);
  backward(x);
  CHECK(seen == Values{1});
}

TEST_CASE("hooks hold no graph alive", "[hooks]") {
  const auto before = tape_stats().live_nodes;
  HookHandle survivor;
  {
    Tensor x = leaf(2.0);
    Tensor other = leaf(5.0);
    const Tensor y = mul(x, x);
    survivor = y.register_hook([other](const Tensor& g) { return mul(g, other); });
    x.register_hook([](const Tensor&) { return Tensor(); });
    backward(y);
    CHECK(x.grad().item<double>() == 20);
  }
  CHECK(tape_stats().live_nodes == before);
  survivor.remove();
}

TEST_CASE("threads register, run and remove hooks on one leaf", "[hooks][concurrency]") {
  Tensor x = leaf(1.0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        HookHandle handle = x.register_hook([](const Tensor&) { return Tensor(); });
        backward(scale(x, 2));
        handle.remove();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(x.grad().item<double>() == 1600);
}
