#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/record.h>
#include <heed/core/scope.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/train/step_trace.h>

using namespace heed;
using namespace heed::train;

namespace {

// y = x, but for one bit of the last element where `planted`.
struct CopyVjp {
  void vjp(VjpContext& context) const { context.set(0, context.cotangent()); }
};
Tensor faulty_copy(const Tensor& x, bool planted) {
  std::vector<float> values = x.to_vector<float>();
  if (planted) values.back() = std::nextafter(values.back(), 2.0f);
  Tensor y = from_span(std::span<const float>(values), x.shape());
  record("faulty_copy", {&x}, y, [] { return CopyVjp{}; });
  return y;
}

struct Plant {
  int step = -1;
  bool in_operation = false;
  bool in_parameter = false;
};

// Three steps down the slope of sum(exp(copy(w))).
std::vector<StepTrace> run(const Plant& plant) {
  Tensor w = tensor({0.5f, 0.25f, 0.125f});
  w.set_requires_grad();
  const nn::NamedTensors parameters = {{"w", w}};
  std::vector<StepTrace> steps;
  StepTracer tracer;
  for (int step = 0; step < 3; ++step) {
    const bool here = step == plant.step;
    const Scope scope("layer");
    const Tensor loss = sum(exp(faulty_copy(w, here && plant.in_operation)));
    backward(loss);
    tracer.add("loss", double{loss.item<float>()});
    tracer.add_gradients(parameters);
    const NoGrad still;
    w.copy_(w.detach() - w.grad());
    if (here && plant.in_parameter) w.copy_(faulty_copy(w.detach(), true));
    w.zero_grad();
    tracer.add_parameters(parameters);
    steps.push_back(tracer.take());
  }
  return steps;
}

}  // namespace

TEST_CASE("the first difference of two runs is named by step and place", "[trace]") {
  const auto right = run({});
  REQUIRE(right.size() == 3);
  CHECK(right[0].front().what == "result 0 of faulty_copy in layer");
  CHECK(right[0].back().what == "parameter w");
  CHECK_FALSE(first_difference(right, run({})));

  const auto in_operation = first_difference(right, run({.step = 1, .in_operation = true}));
  REQUIRE(in_operation);
  CHECK(in_operation->step == 1);
  CHECK(in_operation->what == "result 0 of faulty_copy in layer");

  const auto in_parameter = first_difference(right, run({.step = 2, .in_parameter = true}));
  REQUIRE(in_parameter);
  CHECK(in_parameter->step == 2);
  CHECK(in_parameter->what == "parameter w");
}

TEST_CASE("a run that ends sooner differs where it ends", "[trace]") {
  const auto whole = run({});
  auto cut = whole;
  cut[2].pop_back();
  for (const auto& found : {first_difference(whole, cut), first_difference(cut, whole)}) {
    REQUIRE(found);
    CHECK(found->step == 2);
    CHECK(found->what == "parameter w");
  }
}

TEST_CASE("a checksum is of the elements in row-major order, wherever they lie", "[trace]") {
  const Tensor x = reshape(tensor({1.0f, 2.0f, 3.0f, 4.0f}), {2, 2});
  const Tensor same = reshape(tensor({1.0f, 3.0f, 2.0f, 4.0f}), {2, 2});
  CHECK(bits_checksum(x) == bits_checksum(transpose(same, 0, 1)));
  CHECK(bits_checksum(x) != bits_checksum(same));
  CHECK(bits_checksum(tensor({0.0f})) != bits_checksum(tensor({-0.0f})));
}
