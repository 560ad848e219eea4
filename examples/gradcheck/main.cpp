// How to find out whether a derivative is right: every oracle of check/, on a right operation and
// on wrong ones.
//
// The operation is silu,  y = x s  with s = sigmoid(x),  dy/dx = s + x s (1 − s).  Exit status 1 if an oracle
// says something else than this page expects.

#include <exception>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

using namespace heed;

namespace {

using Tensors = std::vector<Tensor>;

// silu with a rule of our choice for dy/dx.
check::Function silu_with(Tensor (*derivative)(const Tensor& x)) {
  return [derivative](const Tensors& x) {
    const auto forward = [&](CustomSave& save) {
      save("x", x[0]);
      return x[0] * sigmoid(x[0]);
    };
    const auto backward = [derivative](CustomVjp& c) { c.set(0, c.cotangent() * derivative(c.saved("x"))); };
    return Tensors{custom_op("silu", {x[0]}, forward, backward)};
  };
}

Tensor right(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return s + x * s * (1 - s);
}
// The second term of the product rule is forgotten.
Tensor forgotten_term(const Tensor& x) { return sigmoid(x); }
// Right in value, but cut off from x: its own derivative is zero.
Tensor cut_off(const Tensor& x) { return right(x.detach()); }

Tensor point(DType dtype) {
  Generator generator(1);
  return randn({2, 3}, generator, dtype).set_requires_grad();
}

bool all_as_expected = true;

template <class Result>
void show(const char* what, const Result& result, bool expected) {
  all_as_expected = all_as_expected && result.passed == expected;
  fmt::print("\n{}{}\n{}\n", what, result.passed == expected ? "" : "  (NOT AS EXPECTED)", result.report());
}

void heading(const char* text) { fmt::print("\n== {} ==\n", text); }

void differences() {
  heading("1. Differences: is every element of the gradient right?");
  show("The right rule. No step was chosen; ± is how far the difference quotient may be off.",
       check::gradcheck(silu_with(right), {point(DType::f64)}), true);
  show("A term of the product rule forgotten: every element differs by far more than its bar.",
       check::gradcheck(silu_with(forgotten_term), {point(DType::f64)}), false);
  show("The right rule in f32. The bars are wider: that is all f32 can prove.",
       check::gradcheck(silu_with(right), {point(DType::f32)}), true);
}

void second_order() {
  heading("2. Second order: is the gradient's own gradient right?");
  show("The right rule.", check::gradgradcheck(silu_with(right), {point(DType::f64)}), true);
  show("A gradient cut off from x passes at first order ...",
       check::gradcheck(silu_with(cut_off), {point(DType::f64)}), true);
  show("... and fails here: input 0 is x, where the second derivative is missing.",
       check::gradgradcheck(silu_with(cut_off), {point(DType::f64)}), false);
}

void directions() {
  heading("3. Along a random direction v: the whole Jacobian from a few dozen evaluations");
  show("J v of the right rule.", check::jvp_check(silu_with(right), {point(DType::f64)}), true);
  show("J v of the wrong one.", check::jvp_check(silu_with(forgotten_term), {point(DType::f64)}), false);
}

void taylor() {
  heading("4. The Taylor remainder |f(x + h v) − f(x) − h J v|: no tolerance at all");
  show("Right: at half of h the remainder is a quarter, down to rounding. The slope is 2.",
       check::taylor_check(silu_with(right), {point(DType::f64)}), true);
  show("Wrong: what J misses is of order h. The slope is 1.",
       check::taylor_check(silu_with(forgotten_term), {point(DType::f64)}), false);
}

void special_points() {
  heading("5. Where there is no derivative");
  const Tensor x = tensor({-1.0, 0.0, 2.0}).set_requires_grad();
  show("relu at 0: the sides differ, and heed's gradient lies between them. No false alarm.",
       check::gradcheck([](const Tensors& a) { return Tensors{relu(a[0])}; }, {x}), true);
  Generator generator(1);
  show("Dropout that draws a new mask at each call is no function at all.",
       check::gradcheck([&](const Tensors& a) { return Tensors{dropout(a[0], 0.5, generator)}; },
                        {ones({8}, DType::f64).set_requires_grad()}),
       false);
}

// Two layers, one of which a loss below forgets.
class Model final : public nn::Module {
 public:
  explicit Model(Generator& generator)
      : Module("model"), first({.in = 3, .out = 4}, generator), second({.in = 4, .out = 1}, generator) {}
  nn::Linear first;
  nn::Linear second;

 protected:
  HEED_MEMBERS(first, second)
};

void whole_model() {
  heading("6. A whole model: does every parameter hear from the loss?");
  Generator generator(1);
  const Model model(generator);
  const Tensor x = randn({5, 3}, generator);
  show("A sound loss.", check::audit(mean(model.second(tanh(model.first(x)))), model), true);
  const auto report = check::audit(mean(tanh(model.first(x))), model);
  show("A loss that forgets the second layer.", report, false);
  fmt::print("\nThe same for a program to read:\n{}\n", report.to_json());
}

}  // namespace

int main() {
  try {
    differences();
    second_order();
    directions();
    taylor();
    special_points();
    whole_model();
    return all_as_expected ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gradcheck: {}\n", error.what());
    return 1;
  }
}
