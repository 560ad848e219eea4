// How to give heed an operation of your own: define it, use it, prove it.
//
// The operation is squareplus, a smooth relu:  y = (x + √(x² + 4)) / 2,  dy/dx = y / √(x² + 4).

#include <exception>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <heed/heed.h>

using namespace heed;

namespace {

Tensor root(const Tensor& x) { return sqrt(x * x + 4); }

// 1. Define it. Forward computes, and saves what backward needs; backward turns the cotangent of y into that
//    of x. Both are written with heed's operations, so the result has derivatives of every order.
Tensor squareplus(const Tensor& x) {
  const auto forward = [&](CustomSave& save) {
    save("x", x);
    return (x + root(x)) / 2;
  };
  const auto backward = [](CustomVjp& c) {
    const Tensor z = c.saved("x");
    c.set(0, c.cotangent() * ((z / root(z) + 1) / 2));
  };
  return custom_op("squareplus", {x}, forward, backward);
}

// The same with a mistake: the half is forgotten.
Tensor wrong_squareplus(const Tensor& x) {
  const auto forward = [&](CustomSave& save) {
    save("x", x);
    return (x + root(x)) / 2;
  };
  const auto backward = [](CustomVjp& c) {
    const Tensor z = c.saved("x");
    c.set(0, c.cotangent() * (z / root(z) + 1));
  };
  return custom_op("wrong_squareplus", {x}, forward, backward);
}

check::Function as_function(Tensor (*op)(const Tensor&)) {
  return [op](const std::vector<Tensor>& x) { return std::vector<Tensor>{op(x[0])}; };
}

int run() {
  // 2. Use it like any other operation.
  Tensor x = tensor({-2.0, 0.0, 3.0});
  x.set_requires_grad();
  heed::backward(sum(squareplus(x)));
  fmt::print("d squareplus at -2, 0, 3: {:.4f}\n", fmt::join(x.grad().to_vector<double>(), ", "));

  // 3. Prove it, at random points: the gradient, and the gradient of the gradient.
  Generator generator(1);
  const Tensor points = randn({5}, generator, DType::f64).set_requires_grad();
  const check::GradcheckResult first = check::gradcheck(as_function(squareplus), {points});
  const check::GradcheckResult second = check::gradgradcheck(as_function(squareplus), {points});
  fmt::print("\nsquareplus, gradient: {}\n", first.report());
  fmt::print("squareplus, second gradient: {}\n", second.report());

  // 4. A wrong backward does not get through.
  const check::GradcheckResult wrong = check::gradcheck(as_function(wrong_squareplus), {points});
  fmt::print("\nwrong_squareplus, gradient: {}\n", wrong.report());
  return first.passed && second.passed && !wrong.passed ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
