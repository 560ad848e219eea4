#include <cmath>
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

std::vector<double> grad_of(const Tensor& x) { return x.grad().to_vector<double>(); }
using Values = std::vector<double>;

// Gives its input a gradient of another shape or dtype.
struct WrongVjp {
  Shape shape;
  DType dtype = DType::f64;
  void vjp(VjpContext& context) const { context.set(0, zeros(shape, dtype)); }
};
Tensor wrong(const Tensor& x, const Shape& shape, DType dtype = DType::f64) {
  Tensor y = copy_of(x);
  record("wrong", {&x}, y, [&] { return WrongVjp{shape, dtype}; });
  return y;
}

}  // namespace

TEST_CASE("a node with several consumers waits for all of them", "[backward]") {
  Tensor a = leaf(2.0);
  const Tensor s = mul(a, a);
  const Tensor f = mul(accumulate(s, scale(a, 3)), s);
  CHECK(f.item<double>() == 40);
  backward(f);
  CHECK(grad_of(a) == Values{68});

  Tensor x = leaf(1.0);
  const Tensor b = accumulate(x, x);
  backward(accumulate(b, b));
  CHECK(grad_of(x) == Values{4});
}

TEST_CASE("one tensor as both operands", "[backward]") {
  Tensor x = leaf(tensor({3.0, -2.0}));
  backward(sum(mul(x, x)));
  CHECK(grad_of(x) == Values{6, -4});
  x.zero_grad();
  backward(sum(accumulate(x, scale(x, -1))));
  CHECK(grad_of(x) == Values{0, 0});
}

TEST_CASE("a ladder of shared nodes counts every path", "[backward]") {
  Tensor x = leaf(1.0);
  Tensor y = x;
  for (int i = 0; i < 50; ++i) y = accumulate(y, y);
  backward(y);
  CHECK(grad_of(x) == Values{0x1p50});
}

TEST_CASE("a second backward is refused and changes nothing", "[backward]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y = scale(h, 2);
  backward(y);
  CHECK(grad_of(x) == Values{12});
  CHECK_THROWS_MATCHES(backward(y), GradError,
                       Message("backward: the graph was freed by an earlier backward, scale was already run; "
                               "expected retain_graph = true in the earlier call"));
  CHECK(grad_of(x) == Values{12});
}

TEST_CASE("a retained graph gives the same gradient again", "[backward]") {
  Tensor x = leaf(3.0);
  const Tensor y = scale(mul(x, x), 2);
  for (int i = 1; i <= 3; ++i) {
    backward(y, {.retain_graph = true});
    CHECK(grad_of(x) == Values{12.0 * i});
  }
}

TEST_CASE("two losses over one subgraph", "[backward]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y1 = scale(h, 2);
  const Tensor y2 = scale(h, 5);
  SECTION("retained") {
    backward(y1, {.retain_graph = true});
    backward(y2);
    CHECK(grad_of(x) == Values{42});
  }
  SECTION("freed") {
    backward(y1);
    CHECK_THROWS_AS(backward(y2), GradError);
    CHECK(grad_of(x) == Values{12});
  }
}

TEST_CASE("a backward that fails half way stores whole gradients or none", "[backward]") {
  Tensor first = leaf(1.0);
  Tensor last = leaf(1.0);
  const Tensor failing = wrong(last, {7});  // recorded first, so it runs last
  const Tensor y = accumulate(failing, scale(first, 2));
  CHECK_THROWS_AS(backward(y), GradError);
  CHECK(grad_of(first) == Values{2});  // its only consumer had run
  CHECK_FALSE(last.grad().defined());
}

TEST_CASE("a freed part of a graph is found before any gradient is stored", "[backward]") {
  Tensor x = leaf(3.0);
  Tensor w = leaf(1.0);
  const Tensor h = mul(x, x);
  backward(h);
  const Tensor y = mul(h, w);
  CHECK_THROWS_AS(backward(y), GradError);
  CHECK_FALSE(w.grad().defined());
  CHECK(grad_of(x) == Values{6});
  CHECK(grad(y, w).item<double>() == 9);  // does not need the freed part
}

TEST_CASE("cotangents of a loss", "[backward]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  CHECK_THROWS_MATCHES(backward(scale(x, 2)), ShapeError,
                       Message("backward: output has several elements and no cotangent, it is [2]; expected "
                               "one element, or a cotangent of its shape"));
  CHECK_THROWS_AS(backward(scale(x, 2), {.cotangent = tensor({1.0, 2.0, 3.0})}), ShapeError);
  CHECK_THROWS_AS(backward(scale(x, 2), {.cotangent = tensor({1.f, 2.f})}), DTypeError);
  const Tensor cotangent = tensor({10.0, 100.0});
  backward(scale(x, 2), {.cotangent = cotangent});
  CHECK(grad_of(x) == Values{20, 200});
  CHECK(cotangent.to_vector<double>() == Values{10, 100});
  CHECK_THROWS_MATCHES(backward(scalar(1.0)), GradError,
                       Message("backward: output has no history, f64[]; expected a result of recorded "
                               "operations"));
  CHECK_THROWS_MATCHES(backward(Tensor()), ValueError,
                       Message("backward: tensor is undefined, output is undefined; expected a tensor"));
}

TEST_CASE("a cotangent of the caller's is neither changed nor kept", "[backward]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  Tensor cotangent = leaf(tensor({10.0, 100.0}));
  const Tensor y = accumulate(x, x);
  backward(y, {.cotangent = cotangent});
  backward(x, {.cotangent = cotangent});
  CHECK(grad_of(x) == Values{30, 300});
  CHECK(cotangent.to_vector<double>() == Values{10, 100});
  CHECK_FALSE(x.grad().requires_grad());
  CHECK(x.grad().storage().get() != cotangent.storage().get());
}

TEST_CASE("leaves are losses too", "[backward]") {
  Tensor x = leaf(3.0);
  backward(x);
  backward(x);
  CHECK(grad_of(x) == Values{2});
}

TEST_CASE("gradients of results and of leaves", "[grad]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y = mul(h, x);
  const Tensor outputs[] = {y};
  const Tensor inputs[] = {x, h, y, x};
  const auto gradients = grad(outputs, inputs);
  CHECK(gradients[0].item<double>() == 27);
  CHECK(gradients[1].item<double>() == 3);
  CHECK(gradients[2].item<double>() == 1);
  CHECK(gradients[3].item<double>() == 27);
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(gradients[0].requires_grad());
}

TEST_CASE("several outputs add up, also one given twice", "[grad]") {
  Tensor x = leaf(3.0);
  const Tensor h = mul(x, x);
  const Tensor y = scale(h, 2);
  const Tensor outputs[] = {y, h, y};
  const Tensor inputs[] = {x};
  GradOptions options;
  options.grad_outputs = {scalar(10.0), Tensor(), scalar(100.0)};
  CHECK(grad(outputs, inputs, options)[0].item<double>() == 6 + 110 * 12);
  options.grad_outputs.pop_back();
  CHECK_THROWS_MATCHES(grad(outputs, inputs, options), ValueError,
                       Message("grad: wrong number of grad_outputs, 2 were given; expected none or 3"));
}

TEST_CASE("an input without a path is an error, before anything is freed", "[grad]") {
  Tensor x = leaf(3.0);
  Tensor unused = leaf(1.0);
  const Tensor y = mul(x, x);
  const Tensor outputs[] = {y};
  const Tensor inputs[] = {x, unused};
  CHECK_THROWS_MATCHES(grad(outputs, inputs), GradError,
                       Message("grad: the outputs do not depend on an input, input 1; expected a path to it "
                               "(or allow_unused = true)"));
  const auto gradients = grad(outputs, inputs, {.allow_unused = true});
  CHECK(gradients[0].item<double>() == 6);
  CHECK_FALSE(gradients[1].defined());
  CHECK_THROWS_MATCHES(
      grad(x, scalar(1.0)), GradError,
      Message("grad: an input does not require grad, input 0; expected inputs with history"));
  CHECK_THROWS_AS(grad(x, Tensor()), ValueError);
}

TEST_CASE("derivatives of any order", "[grad]") {
  Tensor x = leaf(2.0);
  Tensor y = mul(mul(x, x), mul(x, x));
  for (const double wanted : {32.0, 48.0, 48.0, 24.0}) {
    y = grad(y, x, {.create_graph = true});
    CHECK(y.item<double>() == wanted);
    CHECK(y.requires_grad() == (wanted != 24.0));  // the fourth is a constant
  }
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("second derivative through a saved output", "[grad]") {
  Tensor x = leaf(0.5);
  const Tensor first = grad(exp(x), x, {.create_graph = true});
  CHECK(grad(first, x).item<double>() == std::exp(0.5));
}

TEST_CASE("create_graph records even within NoGrad, and plain grad records nothing", "[grad]") {
  Tensor x = leaf(2.0);
  const Tensor y = mul(x, x);
  const NoGrad guard;
  CHECK(grad(y, x, {.create_graph = true}).requires_grad());
  CHECK_FALSE(grad(y, x).requires_grad());
}

TEST_CASE("a gradient of the wrong shape or dtype names its operation", "[backward]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  CHECK_THROWS_MATCHES(backward(sum(wrong(x, {3}))), GradError,
                       Message("wrong: wrong gradient for input 0, f64[3]; expected f64[2]"));
  CHECK_THROWS_MATCHES(backward(sum(wrong(x, {2}, DType::f32))), GradError,
                       Message("wrong: wrong gradient for input 0, f32[2]; expected f64[2]"));
}

TEST_CASE("a node with several outputs", "[backward]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  SECTION("both used") {
    const auto [twice, thrice] = double_and_triple(x);
    backward(sum(mul(twice, thrice)));  // 6x²
    CHECK(grad_of(x) == Values{12, 24});
  }
  SECTION("one used: the other's cotangent is zeros") {
    backward(sum(double_and_triple(x).second));
    CHECK(grad_of(x) == Values{3, 3});
  }
  SECTION("gradients of the outputs themselves") {
    const auto [twice, thrice] = double_and_triple(x);
    const Tensor loss = sum(thrice);
    CHECK(grad(loss, thrice, {.retain_graph = true}).to_vector<double>() == Values{1, 1});
    CHECK_THROWS_AS(grad(loss, twice, {.retain_graph = true}), GradError);
    const Tensor outputs[] = {loss};
    const Tensor inputs[] = {twice};
    CHECK_FALSE(grad(outputs, inputs, {.allow_unused = true})[0].defined());
  }
}

TEST_CASE("only what is asked for is computed", "[grad]") {
  Tensor x = leaf(2.0);
  Tensor w = leaf(5.0);
  const Tensor y = mul(x, wrong(w, {9}));  // would fail if its vjp ran
  CHECK(grad(y, x).item<double>() == 5);
}

TEST_CASE("record refuses misuse", "[record]") {
  Tensor x = leaf(tensor({1.0}));
  const auto payload = [] { return ScaleVjp{}; };
  CHECK_THROWS_MATCHES(record("op", {&x}, x, payload), GradError,
                       Message("op: an output is one of the inputs; expected a new tensor (return a view)"));
  Tensor y = scale(x, 2);
  CHECK_THROWS_MATCHES(record("op", {&x}, y, payload), GradError,
                       Message("op: an output has history already; expected a new tensor"));
  Tensor integers = tensor({std::int64_t{1}});
  CHECK_THROWS_MATCHES(record("op", {&x}, integers, payload), GradError,
                       Message("op: an output is not floating, i64[1]; expected f32 or f64"));
  Tensor own = copy_of(x);
  CHECK_THROWS_MATCHES(
      record("op", {&x}, own,
             [&] {
               return MulVjp{save_input(own, "own"), {}};
             }),
      GradError,
      Message("op: an output is held by others when it is recorded; expected a tensor held by the operation "
              "alone (save it with save_output)"));
  CHECK_FALSE(own.requires_grad());
}

TEST_CASE("undefined inputs are optional arguments", "[record]") {
  Tensor x = leaf(2.0);
  const Tensor absent;
  Tensor y = copy_of(x);
  record("op", {&absent, &x}, y, [&] {
    return MulVjp{save_input(scalar(4.0), "a"), save_input(absent, "b")};
  });
  backward(y);
  CHECK(grad_of(x) == Values{4});
}

TEST_CASE("operations without a derivative refuse", "[record]") {
  Tensor x = leaf(2.0);
  CHECK_THROWS_MATCHES(refuse_gradient("floor", {&x}), GradError,
                       Message("floor: has no derivative, an input requires grad; expected inputs without "
                               "grad (detach) or a NoGrad scope"));
  const Tensor constant = scalar(1.0);
  CHECK_NOTHROW(refuse_gradient("floor", {&constant}));
  const NoGrad guard;
  CHECK_NOTHROW(refuse_gradient("floor", {&x}));
}

TEST_CASE("a graph made by one thread can be walked by another", "[backward]") {
  Tensor x = leaf(3.0);
  Tensor y;
  std::thread([&] { y = mul(x, x); }).join();
  const Tensor z = scale(y, 2);
  std::thread([&] { backward(z); }).join();
  CHECK(grad_of(x) == Values{12});
}

TEST_CASE("gradients that were set are added to", "[backward]") {
  Tensor x = leaf(tensor({1.0, 2.0}));
  const Tensor given = tensor({5.0, 6.0});
  x.set_grad(given);
  backward(sum(x));
  CHECK(grad_of(x) == Values{6, 7});
  SECTION("also ones that share elements") {
    x.set_grad(broadcast(scalar(5.0), {2}));
    backward(sum(x));
    CHECK(grad_of(x) == Values{6, 6});
  }
  SECTION("a gradient with history is kept without it") {
    const auto before = tape_stats().live_nodes;
    {
      Tensor w = leaf(3.0);
      w.set_grad(grad(mul(w, w), w, {.create_graph = true}));
      CHECK(w.grad().item<double>() == 6);
      CHECK_FALSE(w.grad().requires_grad());
    }
    CHECK(tape_stats().live_nodes == before);
  }
  SECTION("wrong ones are refused") {
    CHECK_THROWS_AS(x.set_grad(tensor({1.0})), ShapeError);
    CHECK_THROWS_AS(x.set_grad(tensor({1.f, 2.f})), DTypeError);
    CHECK_THROWS_AS(scale(x, 2).set_grad(given), GradError);
    CHECK_THROWS_AS(Tensor().set_grad(given), ValueError);
  }
}
