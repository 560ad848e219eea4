#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/checkpoint.h>
#include <heed/core/custom_op.h>
#include <heed/core/error.h>
#include <heed/core/node.h>
#include <heed/core/tape_ledger.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Message;

namespace {

using Values = std::vector<double>;

Tensor cube(const Tensor& x) {
  return custom_op(
      "cube", {x},
      [&](CustomSave& save) {
        save("x", x);
        return mul(x, mul(x, x));
      },
      [](CustomVjp& c) { c.set(0, mul(c.cotangent(), scale(mul(c.saved("x"), c.saved("x")), 3))); });
}

Tensor custom_exp(const Tensor& x) {
  return custom_op(
      "custom_exp", {x},
      [&](CustomSave& save) {
        Tensor y = heed::test::exp(x);
        save("y", y);
        return y;
      },
      [](CustomVjp& c) { c.set(0, mul(c.cotangent(), c.saved("y"))); });
}

}  // namespace

TEST_CASE("a user's operation has derivatives of any order", "[custom_op]") {
  const auto before = tape_stats();
  {
    Tensor x = leaf(tensor({2.0, -3.0}));
    Tensor y = cube(x);
    CHECK(y.to_vector<double>() == Values{8, -27});
    CHECK(std::string(y.impl()->node->op()) == "cube");
    CHECK(tape_stats().live_nodes == before.live_nodes + 2);  // the leaf and the operation
    CHECK(tape_stats().saved_bytes == before.saved_bytes + 16);
    for (const Values& wanted : {Values{12, 27}, Values{12, -18}, Values{6, 6}}) {
      y = grad(sum(y), x, {.create_graph = true});
      CHECK(y.to_vector<double>() == wanted);
    }
  }
  CHECK(tape_stats().live_nodes == before.live_nodes);
  CHECK(tape_stats().saved_bytes == before.saved_bytes);
}

TEST_CASE("a user's operation may save its result", "[custom_op]") {
  const auto before = tape_stats().live_nodes;
  {
    Tensor x = leaf(0.5);
    const Tensor first = grad(custom_exp(x), x, {.create_graph = true});
    CHECK(grad(first, x).item<double>() == std::exp(0.5));
    Tensor y = custom_exp(x);
    {
      const NoGrad guard;
      y.fill_(3);
    }
    CHECK_THROWS_WITH(backward(y),
                      Contains("custom_exp: a saved tensor was overwritten") && Contains("y is []"));
  }
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("what a user's forward makes in between lasts for one derivative", "[custom_op]") {
  const auto op = [](const Tensor& x) {
    return custom_op(
        "op", {x},
        [&](CustomSave& save) {
          const Tensor slope = scale(x, 2);
          save("slope", slope);
          return mul(x, x);
        },
        [](CustomVjp& c) { c.set(0, mul(c.cotangent(), c.saved("slope"))); });
  };
  Tensor x = leaf(3.0);
  CHECK(grad(op(x), x).item<double>() == 6);
  CHECK_THROWS_MATCHES(grad(op(x), x, {.create_graph = true}), GradError,
                       Message("custom_op: a saved tensor is neither input nor result and has no history, "
                               "slope, read with create_graph; expected the inputs that it was made from"));
}

TEST_CASE("a user's operation with several inputs and results", "[custom_op]") {
  const auto product_and_sum = [](const Tensor& a, const Tensor& b) {
    return custom_op(
        "product_and_sum", {a, b},
        [&](CustomSave& save) {
          save("a", a);
          save("b", b);
          return std::vector<Tensor>{mul(a, b), accumulate(a, b)};
        },
        [](CustomVjp& c) {
          if (c.needs(0)) c.set(0, accumulate(mul(c.cotangent(0), c.saved("b")), c.cotangent(1)));
          if (c.needs(1)) c.set(1, accumulate(mul(c.cotangent(0), c.saved("a")), c.cotangent(1)));
        });
  };
  Tensor a = leaf(2.0);
  const Tensor b = scalar(5.0);
  const std::vector<Tensor> y = product_and_sum(a, b);
  CHECK(y[1].item<double>() == 7);
  backward(accumulate(y[0], scale(y[1], 10)));
  CHECK(a.grad().item<double>() == 15);
  CHECK_FALSE(b.requires_grad());
}

TEST_CASE("a user's operation records nothing where nothing is asked for", "[custom_op]") {
  Tensor x = leaf(2.0);
  CHECK_FALSE(cube(scalar(2.0)).requires_grad());
  const NoGrad guard;
  CHECK_FALSE(cube(x).requires_grad());
  CHECK(tape_stats().saved_bytes == 0);
}

TEST_CASE("a user's operation passes the checks of the tape", "[custom_op]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  Tensor w = leaf(tensor({3.0, 4.0}));
  const auto keep = [&](CustomSave&) { return copy_of(x); };
  SECTION("gradient of the wrong shape") {
    const Tensor y = custom_op("op", {x}, keep, [](CustomVjp& c) { c.set(0, sum(c.cotangent())); });
    CHECK_THROWS_MATCHES(backward(sum(y)), GradError,
                         Message("op: wrong gradient for input 0, f64[]; expected f64[2]"));
  }
  SECTION("forward reads what is no input") {
    CHECK_THROWS_MATCHES(
        custom_op(
            "op", {x}, [&](CustomSave&) { return mul(x, w); }, [](CustomVjp&) {}),
        GradError,
        Message(
            "op: forward reads a tensor that requires grad and is no input, f64[2] made by leaf; expected "
            "it among the inputs, or detached"));
    CHECK_NOTHROW(custom_op(
        "op", {x}, [&](CustomSave&) { return mul(x, w.detach()); }, [](CustomVjp&) {}));
  }
  SECTION("an input as the result") {
    CHECK_THROWS_WITH(custom_op(
                          "op", {x}, [&](CustomSave&) { return x; }, [](CustomVjp&) {}),
                      Contains("op: an output is one of the inputs"));
  }
  SECTION("an unknown name") {
    const Tensor y = custom_op(
        "op", {x},
        [&](CustomSave& save) {
          save("x", x);
          return copy_of(x);
        },
        [](CustomVjp& c) { c.set(0, c.saved("y")); });
    CHECK_THROWS_MATCHES(backward(sum(y)), ValueError,
                         Message("custom_op: no tensor was saved under this name, y; expected x"));
  }
  SECTION("a backward without derivative") {
    const Tensor y = custom_op("op", {x}, keep, [](CustomVjp& c) { c.set(0, copy_of(c.cotangent())); },
                               {.differentiable_backward = false});
    CHECK_THROWS_MATCHES(grad(sum(y), x, {.create_graph = true}), GradError,
                         Message("op: the backward has no derivative, it was asked for with create_graph; "
                                 "expected a backward written with heed's operations"));
    backward(sum(y));
    CHECK(x.grad().to_vector<double>() == Values{1, 1});
  }
  SECTION("no function") {
    CHECK_THROWS_MATCHES(custom_op("op", {x}, keep, {}), ValueError,
                         Message("op: a function is empty; expected forward and backward"));
  }
}

TEST_CASE("a user's operation within a checkpoint, and on another thread", "[custom_op][checkpoint]") {
  Tensor x = leaf(2.0);
  Tensor w = leaf(3.0);
  const Tensor y = checkpoint([&](const Tensor& t) { return mul(cube(t), cube(w)); }, x);
  std::thread([&] { backward(y); }).join();
  CHECK(x.grad().item<double>() == 12 * 27);
  CHECK(w.grad().item<double>() == 8 * 27);
}
