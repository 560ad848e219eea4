#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/error.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Message;

TEST_CASE("e^x after its result was overwritten", "[saved_tensor]") {
  Tensor x = leaf(tensor({1.0, 2.0, 3.0}));
  Tensor y = heed::test::exp(x);
  const Tensor loss = sum(y);
  const char* message =
      "exp: a saved tensor was overwritten before backward, y is [3] at version 2; expected version 1";
  SECTION("untouched") {
    backward(loss);
    const auto g = x.grad().to_vector<double>();
    CHECK(g == std::vector<double>{std::exp(1.0), std::exp(2.0), std::exp(3.0)});
  }
  SECTION("directly") {
    const NoGrad guard;
    y.fill_(1);
    CHECK_THROWS_MATCHES(backward(loss), GradError, Message(message));
    CHECK_FALSE(x.grad().defined());
  }
  SECTION("through a detached handle") {
    y.detach().copy_(tensor({1.0, 1.0, 1.0}));
    CHECK_THROWS_MATCHES(backward(loss), GradError, Message(message));
  }
  SECTION("through a view of one element") {
    view_of(y, select_view("select", y.view(), 0, 2)).fill_(1);
    CHECK_THROWS_MATCHES(backward(loss), GradError, Message(message));
  }
  SECTION("through its data pointer") {
    y.detach().mutable_data<double>()[0] += 1;
    CHECK_THROWS_MATCHES(backward(loss), GradError, Message(message));
  }
  SECTION("even with what it held before") {
    y.detach().copy_(copy_of(y));
    CHECK_THROWS_AS(backward(loss), GradError);
  }
}

TEST_CASE("an operand overwritten before backward", "[saved_tensor]") {
  Tensor a = leaf(tensor({1.0, 2.0}));
  Tensor b = leaf(tensor({3.0, 4.0}));
  const Tensor loss = sum(mul(a, b));
  b.detach().fill_(0);
  CHECK_THROWS_MATCHES(
      backward(loss), GradError,
      Message(
          "mul: a saved tensor was overwritten before backward, b is [2] at version 2; expected version 1"));
}

TEST_CASE("an optimiser step between forward and backward", "[saved_tensor]") {
  Tensor w = leaf(scalar(2.0));
  const Tensor loss = mul(w, scalar(5.0));
  {
    const NoGrad guard;
    w.fill_(1.9);
  }
  // w is saved, but its value is not needed: only the constant's gradient would read it.
  backward(loss);
  CHECK(w.grad().item<double>() == 5);
}

TEST_CASE("a saved view is guarded by the version of its base", "[saved_tensor]") {
  Tensor base = tensor({1.0, 2.0, 3.0, 4.0});
  const Tensor half = view_of(base, slice_view("slice", base.view(), 0, 0, 2, 1));
  Tensor x = leaf(tensor({1.0, 1.0}));
  const Tensor loss = sum(mul(x, half));
  base.mutable_data<double>()[3] = 9;  // not even one of its elements
  CHECK_THROWS_AS(backward(loss), GradError);
}

TEST_CASE("windows of one buffer do not disturb each other", "[saved_tensor]") {
  const Ref<Storage> whole = Storage::allocate(32);
  Tensor a(Storage::window(whole, 0, 16), contiguous_view({2}), DType::f64);
  Tensor b(Storage::window(whole, 16, 16), contiguous_view({2}), DType::f64);
  a.fill_(2);
  b.fill_(3);
  Tensor x = leaf(tensor({1.0, 1.0}));
  const Tensor loss = sum(mul(x, a));
  b.fill_(4);
  backward(loss);
  CHECK(x.grad().to_vector<double>() == std::vector<double>{2, 2});
}

TEST_CASE("a write after backward, or to what was not saved, is free", "[saved_tensor]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  Tensor y = scale(x, 3);
  const Tensor loss = sum(y);
  y.detach().fill_(0);
  backward(loss, {.retain_graph = true});
  CHECK(x.grad().to_vector<double>() == std::vector<double>{3, 3});
  x.detach().fill_(0);
  backward(loss);
  CHECK(x.grad().to_vector<double>() == std::vector<double>{6, 6});
}

TEST_CASE("a saved output keeps neither its node nor its graph alive", "[saved_tensor]") {
  const auto before = tape_stats();
  {
    Tensor x = leaf(1.0);
    Tensor y = heed::test::exp(heed::test::exp(x));
    CHECK(tape_stats().live_nodes == before.live_nodes + 3);
    CHECK(tape_stats().saved_bytes == before.saved_bytes + 16);
  }
  CHECK(tape_stats().live_nodes == before.live_nodes);
  CHECK(tape_stats().saved_bytes == before.saved_bytes);
}

TEST_CASE("an unpacked output has its history again", "[saved_tensor]") {
  Tensor x = leaf(0.5);
  Tensor y = heed::test::exp(x);
  for (int order = 1; order <= 4; ++order) {
    y = grad(y, x, {.create_graph = true});
    CHECK(y.item<double>() == std::exp(0.5));
  }
}
