#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/anomaly.h>
#include <heed/core/checkpoint.h>
#include <heed/core/error.h>
#include <heed/core/node.h>
#include <heed/core/random.h>
#include <heed/core/tape_ledger.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Message;

namespace {

using Values = std::vector<double>;

Tensor normal(std::uint64_t seed) {
  Generator generator(seed);
  return leaf(randn({20}, generator, DType::f64));
}

// Several operations with random numbers and a parameter.
Tensor layer(const Tensor& x, const Tensor& w, Generator& generator) {
  const Tensor noise = randn(x.shape(), generator, DType::f64);
  return mul(heed::test::exp(scale(mul(x, w), 0.3)), mul(noise, x));
}

}  // namespace

TEST_CASE("checkpoint gives the same bits, with captured parameters and random numbers", "[checkpoint]") {
  Tensor x = normal(1);
  Tensor w = normal(2);
  Values value;
  Values dx;
  Values dw;
  const auto run = [&](bool recompute) {
    Generator generator(3);
    const auto f = [&](const Tensor& a) { return layer(layer(a, w, generator), w, generator); };
    const Tensor y = recompute ? checkpoint(f, x) : f(x);
    const auto offset = generator.state().offset;
    backward(sum(mul(y, y)));
    CHECK(offset == 2);
    CHECK(generator.state().offset == offset);
    value = y.to_vector<double>();
    dx = x.grad().to_vector<double>();
    dw = w.grad().to_vector<double>();
    x.zero_grad();
    w.zero_grad();
  };
  run(false);
  const std::vector<Values> plain{value, dx, dw};
  run(true);
  CHECK(std::vector<Values>{value, dx, dw} == plain);
}

TEST_CASE("checkpoint saves its arguments and captured tensors alone", "[checkpoint]") {
  Tensor x = normal(1);
  Tensor w = normal(2);
  Generator generator(3);
  const auto before = tape_stats();
  {
    const TapeLedger ledger;
    const Tensor y =
        checkpoint([&](const Tensor& a) { return layer(layer(a, w, generator), w, generator); }, x);
    CHECK(tape_stats().live_nodes == before.live_nodes + 1);
    CHECK(tape_stats().saved_bytes == before.saved_bytes + 2 * 160);
    CHECK(ledger.counts().unique_now == 2 * 160);
    backward(sum(y));
    CHECK(tape_stats().saved_bytes == before.saved_bytes);
  }
  CHECK(tape_stats().live_nodes == before.live_nodes);
}

TEST_CASE("checkpoint differentiates to any order", "[checkpoint]") {
  Tensor x = leaf(0.7);
  Tensor w = leaf(1.3);
  const auto f = [&](const Tensor& a) { return heed::test::exp(mul(mul(a, a), w)); };  // e^(w x²)
  const auto derivatives = [&](bool recompute) {
    Values found;
    const Tensor y = recompute ? checkpoint(f, x) : f(x);
    const Tensor first = grad(y, x, {.create_graph = true});
    const Tensor second = grad(first, x, {.create_graph = true});
    for (const Tensor& t :
         {first, second, grad(second, x, {.create_graph = true}), grad(first, w, {.create_graph = true}),
          grad(second, w, {.create_graph = true})}) {
      found.push_back(t.item<double>());
    }
    return found;
  };
  const Values plain = derivatives(false);
  const Values again = derivatives(true);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(again[i] == Approx(plain[i]).epsilon(1e-13));  // the sums are formed in another order
  }
}

TEST_CASE("a captured tensor that the argument depends on is counted once a path", "[checkpoint]") {
  Tensor w = leaf(3.0);
  const Tensor c = mul(w, w);  // a captured result
  const Tensor x = scale(c, 2);
  const auto f = [&](const Tensor& a) { return mul(mul(a, c), w); };  // 2w² w² w
  const Tensor y = checkpoint(f, x);
  CHECK(y.item<double>() == 2 * 243);
  CHECK(grad(y, w, {.retain_graph = true}).item<double>() == 10 * 81);
  const Tensor first = grad(y, w, {.create_graph = true});
  CHECK(first.item<double>() == 10 * 81);
  CHECK(grad(first, w).item<double>() == 40 * 27);
}

TEST_CASE("an argument given twice, captured too, or handed through", "[checkpoint]") {
  Tensor x = leaf(3.0);
  const TensorFunction f = [&](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{mul(mul(a[0], a[1]), x), a[0]};
  };
  const Tensor inputs[] = {x, x};
  const std::vector<Tensor> y = checkpoint(f, inputs);
  backward(accumulate(y[0], y[1]));
  CHECK(x.grad().item<double>() == 27 + 1);
}

TEST_CASE("checkpoints nest, random numbers included", "[checkpoint]") {
  Tensor x = normal(1);
  Tensor w = normal(2);
  const auto gradients = [&](int depth) {
    Generator generator(3);
    const auto one = [&](const Tensor& a) { return layer(a, w, generator); };
    const auto two = [&](const Tensor& a) { return depth > 1 ? checkpoint(one, one(a)) : one(one(a)); };
    const auto four = [&](const Tensor& a) { return depth > 2 ? checkpoint(two, two(a)) : two(two(a)); };
    const Tensor y = depth > 0 ? checkpoint(four, x) : four(x);
    x.zero_grad();
    backward(sum(y));
    return x.grad().to_vector<double>();
  };
  const Values plain = gradients(0);
  for (const int depth : {1, 2, 3}) CHECK(gradients(depth) == plain);
}

TEST_CASE("hooks of captured parameters see the whole gradient once", "[checkpoint][hooks]") {
  Tensor x = leaf(2.0);
  Tensor w = leaf(3.0);
  Values seen;
  w.register_hook([&](const Tensor& g) {
    seen.push_back(g.item<double>());
    return Tensor();
  });
  const Tensor y = checkpoint([&](const Tensor& a) { return mul(a, w); }, x);
  backward(accumulate(y, w));
  CHECK(seen == Values{3});
}

TEST_CASE("checkpoint gives integers and constants through", "[checkpoint]") {
  Tensor x = leaf(2.0);
  const TensorFunction f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{tensor({std::int64_t{7}}), scalar(5.0), mul(a[0], a[1])};
  };
  const Tensor inputs[] = {x, scalar(4.0)};
  const std::vector<Tensor> y = checkpoint(f, inputs);
  CHECK(y[0].item<std::int64_t>() == 7);
  CHECK_FALSE(y[0].requires_grad());
  backward(accumulate(y[1], y[2]));
  CHECK(x.grad().item<double>() == 4);
}

TEST_CASE("checkpoint without gradients is the function", "[checkpoint]") {
  const Tensor constant = scalar(2.0);
  const auto before = tape_stats().live_nodes;
  const auto square = [](const Tensor& a) { return mul(a, a); };
  CHECK_FALSE(checkpoint(square, constant).requires_grad());
  Tensor x = leaf(2.0);
  {
    const NoGrad guard;
    CHECK_FALSE(checkpoint(square, x).requires_grad());
  }
  {
    const AnomalyMode guard;
    CHECK(std::string(checkpoint(square, x).impl()->node->op()) == "mul");
  }
  x = Tensor();
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("checkpoint loses no gradient silently", "[checkpoint]") {
  Tensor x = leaf(2.0);
  Tensor w = leaf(3.0);
  CHECK_THROWS_MATCHES(
      checkpoint([&](const Tensor&) { return w; }, x), GradError,
      Message(
          "checkpoint: the function returned a tensor with history, f64[] made by leaf; expected a result "
          "computed from its arguments, without a GradMode of its own"));
  const auto recording = [&](const Tensor& a) {
    const GradMode mode(true);
    return mul(a, w);
  };
  CHECK_THROWS_WITH(checkpoint(recording, x), Contains("made by mul"));
}

TEST_CASE("checkpoint notices a function that changes its mind", "[checkpoint]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  Generator generator(1);
  int calls = 0;
  SECTION("another shape") {
    const Tensor y = checkpoint([&](const Tensor& a) { return ++calls == 1 ? scale(a, 2) : sum(a); }, x);
    CHECK_THROWS_MATCHES(backward(sum(y)), GradError,
                         Message("checkpoint: the function gave another result when run again, result 0 is "
                                 "f64[]; expected f64[2]"));
  }
  SECTION("fewer draws") {
    const Tensor y = checkpoint(
        [&](const Tensor& a) {
          if (++calls == 1) rand({1}, generator);
          return scale(a, 2);
        },
        x);
    CHECK_THROWS_MATCHES(backward(sum(y)), GradError,
                         Message("checkpoint: the function drew fewer random numbers when run again, 1 of 1 "
                                 "draws are left; expected the same draws"));
  }
  SECTION("more draws") {
    const Tensor y = checkpoint(
        [&](const Tensor& a) {
          if (++calls == 2) rand({1}, generator);
          return scale(a, 2);
        },
        x);
    CHECK_THROWS_MATCHES(backward(sum(y)), GradError,
                         Message("random: a computation that is run again draws more than the first time, it "
                                 "drew 0 times; expected the same draws"));
  }
  SECTION("an overwritten parameter") {
    Tensor w = leaf(tensor({1.0, 2.0}));
    const Tensor y = checkpoint([&](const Tensor& a) { return mul(a, w); }, x);
    {
      const NoGrad guard;
      w.fill_(5);
    }
    CHECK_THROWS_WITH(backward(sum(y)), Contains("captured tensor is [2] at version"));
  }
  SECTION("an overwritten input, of integers") {
    const std::vector<Tensor> inputs{x, tensor<std::int64_t>({3})};
    const TensorFunction times = [](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{scale(in[0], static_cast<double>(in[1].item<std::int64_t>()))};
    };
    const Tensor y = checkpoint(times, inputs)[0];
    inputs[1].detach().fill_(4);
    CHECK_THROWS_WITH(backward(sum(y)), Contains("input is [1] at version"));
  }
  CHECK_THROWS_MATCHES(checkpoint(std::function<Tensor(const Tensor&)>(), x), ValueError,
                       Message("checkpoint: function is empty; expected a function"));
}
