#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/checkpoint.h>
#include <heed/core/derivatives.h>
#include <heed/core/error.h>
#include <heed/core/node.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Message;

namespace {

using Values = std::vector<double>;
using Tensors = std::vector<Tensor>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

// f(a, b) = (a² b, Σ a, 7) with elementwise products
Tensors three(const Tensors& x) { return {mul(mul(x[0], x[0]), x[1]), sum(x[0]), scalar(7.0)}; }

const Tensor a = tensor({2.0, 3.0});
const Tensor b = tensor({5.0, 7.0});

}  // namespace

TEST_CASE("vjp of several inputs and outputs", "[derivatives]") {
  const auto before = tape_stats().live_nodes;
  const Products result = vjp(three, {a, b}, {tensor({1.0, 10.0}), scalar(100.0), scalar(1000.0)});
  CHECK(values(result.outputs[0]) == Values{20, 63});
  CHECK(values(result.outputs[1]) == Values{5});
  CHECK(values(result.products[0]) == Values{2 * 2 * 5 + 100, 10 * 2 * 3 * 7 + 100});
  CHECK(values(result.products[1]) == Values{4, 90});
  CHECK_FALSE(result.products[0].requires_grad());
  CHECK_FALSE(result.outputs[0].requires_grad());
  CHECK_FALSE(a.requires_grad());
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("jvp of several inputs and outputs", "[derivatives]") {
  const auto before = tape_stats().live_nodes;
  const Products result = jvp(three, {a, b}, {tensor({1.0, 10.0}), tensor({100.0, 1000.0})});
  CHECK(values(result.outputs[0]) == Values{20, 63});
  CHECK(values(result.products[0]) == Values{2 * 2 * 5 * 1 + 4 * 100, 2 * 3 * 7 * 10 + 9 * 1000});
  CHECK(values(result.products[1]) == Values{11});
  CHECK(values(result.products[2]) == Values{0});
  CHECK(tape_stats().live_nodes == before);
}

TEST_CASE("jvp where the derivative is constant, and where there is none", "[derivatives]") {
  const TensorFunction f = [](const Tensors& x) {
    return Tensors{scale(x[0], 3), scale(x[1].detach(), 2), x[0]};
  };
  const Products result = jvp(f, {a, b}, {tensor({1.0, 2.0}), tensor({1.0, 1.0})});
  CHECK(values(result.products[0]) == Values{3, 6});
  CHECK(values(result.products[1]) == Values{0, 0});
  CHECK(values(result.products[2]) == Values{1, 2});
  CHECK(values(vjp(f, {a, b}, {a, a, a}).products[1]) == Values{0, 0});
}

TEST_CASE("an input given twice is two inputs", "[derivatives]") {
  const TensorFunction product = [](const Tensors& x) { return Tensors{mul(x[0], x[1])}; };
  const Products result = vjp(product, {a, a}, {tensor({1.0, 1.0})});
  CHECK(values(result.products[0]) == Values{2, 3});
  CHECK(values(result.products[1]) == Values{2, 3});
}

TEST_CASE("the jacobian in its blocks", "[derivatives]") {
  const auto before = tape_stats().live_nodes;
  const auto j = jacobian(three, {a, b});
  CHECK(j[0][0].shape() == Shape{2, 2});
  CHECK(values(j[0][0]) == Values{20, 0, 0, 42});
  CHECK(values(j[0][1]) == Values{4, 0, 0, 9});
  CHECK(j[1][0].shape() == Shape{2});
  CHECK(values(j[1][0]) == Values{1, 1});
  CHECK(values(j[1][1]) == Values{0, 0});
  CHECK(values(j[2][0]) == Values{0, 0});
  CHECK(tape_stats().live_nodes == before);
  const auto empty = jacobian(three, {zeros({0}, DType::f64), zeros({0}, DType::f64)});
  CHECK(empty[0][0].shape() == Shape{0, 0});
}

TEST_CASE("the hessian and its products", "[derivatives]") {
  const TensorFunction f = [](const Tensors& x) {  // Σ a³ b
    return Tensors{sum(mul(mul(x[0], mul(x[0], x[0])), x[1]))};
  };
  const auto h = hessian(f, {a, b});
  CHECK(values(h[0][0]) == Values{60, 0, 0, 126});
  CHECK(values(h[0][1]) == Values{12, 0, 0, 27});
  CHECK(values(h[1][0]) == Values{12, 0, 0, 27});
  CHECK(values(h[1][1]) == Values{0, 0, 0, 0});
  const Products product = hvp(f, {a, b}, {tensor({1.0, 10.0}), tensor({100.0, 1000.0})});
  CHECK(product.outputs[0].item<double>() == 8 * 5 + 27 * 7);
  CHECK(values(product.products[0]) == Values{60 + 1200, 1260 + 27000});
  CHECK(values(product.products[1]) == Values{12, 270});
  const TensorFunction linear = [](const Tensors& x) { return Tensors{sum(x[0])}; };
  CHECK(values(hessian(linear, {a})[0][0]) == Values{0, 0, 0, 0});
  CHECK(values(hvp(linear, {a}, {b}).products[0]) == Values{0, 0});
}

TEST_CASE("derivatives nest", "[derivatives]") {
  const Tensor one = tensor({1.0, 1.0});
  const TensorFunction cube = [](const Tensors& x) { return Tensors{mul(x[0], mul(x[0], x[0]))}; };
  const TensorFunction slope = [&](const Tensors& x) { return vjp(cube, x, {one}).products; };
  const TensorFunction forward = [&](const Tensors& x) { return jvp(cube, x, {one}).products; };
  CHECK(values(jvp(slope, {a}, {one}).products[0]) == Values{12, 18});
  CHECK(values(vjp(slope, {a}, {one}).products[0]) == Values{12, 18});
  CHECK(values(vjp(forward, {a}, {one}).products[0]) == Values{12, 18});
  const TensorFunction curvature = [&](const Tensors& x) { return jvp(slope, x, {one}).products; };
  CHECK(values(jvp(curvature, {a}, {one}).products[0]) == Values{6, 6});
  CHECK(values(jacobian(slope, {a})[0][0]) == Values{12, 0, 0, 18});
  // In the cotangent: its own map is the transposed jacobian.
  const TensorFunction pull = [&](const Tensors& u) { return vjp(cube, {a}, u).products; };
  CHECK(values(jacobian(pull, {one})[0][0]) == Values{12, 0, 0, 27});
}

TEST_CASE("derivatives of inputs with history have history, but not under NoGrad", "[derivatives]") {
  Tensor x = leaf(2.0);
  const TensorFunction cube = [](const Tensors& t) { return Tensors{mul(t[0], mul(t[0], t[0]))}; };
  const Tensor slope = vjp(cube, {x}, {scalar(1.0)}).products[0];
  CHECK(grad(slope, x).item<double>() == 12);
  CHECK(grad(hvp(cube, {x}, {scalar(1.0)}).products[0], x).item<double>() == 6);
  CHECK_FALSE(x.grad().defined());
  const NoGrad guard;
  const Products product = vjp(cube, {x}, {scalar(1.0)});
  CHECK(product.products[0].item<double>() == 12);
  CHECK_FALSE(product.products[0].requires_grad());
  CHECK_FALSE(product.outputs[0].requires_grad());
}

TEST_CASE("checkpoint inside of derivatives", "[derivatives][checkpoint]") {
  const TensorFunction f = [](const Tensors& x) {
    return Tensors{checkpoint([](const Tensor& t) { return mul(t, mul(t, t)); }, x[0])};
  };
  const TensorFunction total = [&](const Tensors& x) { return Tensors{sum(f(x)[0])}; };
  CHECK(values(jvp(f, {a}, {tensor({1.0, 1.0})}).products[0]) == Values{12, 27});
  CHECK(values(hessian(total, {a})[0][0]) == Values{12, 0, 0, 18});
}

TEST_CASE("derivatives refuse misuse by name", "[derivatives]") {
  const TensorFunction same = [](const Tensors& x) { return x; };
  CHECK_THROWS_MATCHES(vjp({}, {a}, {a}), ValueError, Message("vjp: function is empty; expected a function"));
  CHECK_THROWS_MATCHES(jvp(same, {}, {}), ValueError,
                       Message("jvp: there are no inputs; expected at least one"));
  CHECK_THROWS_MATCHES(
      vjp(same, {a}, {}), ValueError,
      Message("vjp: wrong number of cotangents, 0 were given; expected 1, one for each output"));
  CHECK_THROWS_MATCHES(
      jvp(same, {a}, {a, b}), ValueError,
      Message("jvp: wrong number of tangents, 2 were given; expected 1, one for each input"));
  CHECK_THROWS_AS(vjp(same, {a}, {scalar(1.0)}), ShapeError);
  CHECK_THROWS_AS(jvp(same, {a}, {tensor({1.f, 2.f})}), DTypeError);
  CHECK_THROWS_WITH(jacobian(same, {tensor({std::int64_t{1}})}), Contains("jacobian: ") && Contains("input"));
  CHECK_THROWS_MATCHES(
      hessian(same, {a}), ShapeError,
      Message("hessian: function's result has not one element, f64[2]; expected one element"));
  CHECK_THROWS_MATCHES(hvp(same, {a, b}, {a, b}), ValueError,
                       Message("hvp: function has not one result, it has 2; expected one result"));
  CHECK_THROWS_AS(jacobian(same, {zeros({1, 1, 1, 1, 1}, DType::f64)}), ShapeError);
}

TEST_CASE("functions of one to three tensors, with one result or several", "[derivatives][fault-40]") {
  const Tensor p = tensor({2.0});
  const Tensor q = tensor({3.0});
  const Tensor one = tensor({1.0});
  CHECK(vjp([](const Tensor& x) { return mul(x, x); }, p, one).products[0].item<double>() == 4);
  CHECK(vjp(
            [](const Tensor& x) {
              return Tensors{x, mul(x, x)};
            },
            p, {one, one})
            .products[0]
            .item<double>() == 5);
  CHECK(vjp([](Tensor x, Tensor y) { return mul(x, y); }, {p, q}, one).products[1].item<double>() == 2);
  const TensorFunction three = [](const Tensor& x, const Tensor& y, const Tensor& z) {
    return mul(mul(x, y), z);
  };
  CHECK(three({p, q, q})[0].item<double>() == 18);
  CHECK(TensorFunction([](const Tensors& x) { return x[1]; })({p, q})[0].item<double>() == 3);
  CHECK_THROWS_MATCHES(three({p}), ValueError,
                       Message("TensorFunction: wrong number of tensors, 1 were given; expected 3, which the "
                               "function takes"));
  using OfOne = std::function<Tensor(const Tensor&)>;
  CHECK_FALSE(TensorFunction(OfOne()));
  CHECK(TensorFunction(OfOne([](const Tensor& x) { return x; })));
  CHECK_THROWS_AS(vjp(OfOne(), p, one), ValueError);
}
