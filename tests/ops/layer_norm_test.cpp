#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/rms_norm.h>

#include "../support/norm_reference.h"
#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"layer_norm",
      "weight and bias",
      {{{3, 7}}, {{7}}, {{7}}},
      ternary([](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {7}, w, b); }),
      norm_reference(true, 7, 1e-5)},
     {"layer_norm",
      "longer than a vector",
      {{{2, 37}}, {{37}}, {{37}}},
      ternary([](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {37}, w, b); }),
      norm_reference(true, 37, 1e-5)},
     {"layer_norm",
      "no parameters, two axes",
      {{{2, 3, 4}}},
      unary([](const Tensor& x) {
        return layer_norm(x, {3, 4}, {}, {}, 0.1);
      }),
      norm_reference(true, 12, 0.1)},
     {"layer_norm",
      "no rows",
      {{{0, 4}}, {{4}}, {{4}}},
      ternary([](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {4}, w, b); }),
      norm_reference(true, 4, 1e-5)}},
    {throws<ShapeError>(
         "layer_norm", "shape",
         [] {
           layer_norm(zeros({2, 3}), {4});
         },
         "layer_norm: x does not end in the normalized shape, x is [2, 3] and the normalized shape is [4]; "
         "expected x[-k:] == the normalized shape, with one axis or more"),
     throws<ShapeError>(
         "layer_norm", "weight",
         [] {
           layer_norm(zeros({2, 3}), {3}, zeros({2}));
         },
         "layer_norm: weight has the wrong shape, weight is [2]; expected [3], the normalized shape"),
     throws<ValueError>(
         "layer_norm", "epsilon",
         [] {
           layer_norm(zeros({2, 3}), {3}, {}, {}, -1.0);
         },
         "layer_norm: bad epsilon, epsilon is -1; expected epsilon >= 0")});

// First and last of 12 values m + 0.02 i, as f32 holds them.
void require_ends(double m, double first, double last) {
  Tensor x = empty({12});
  for (int i = 0; i < 12; ++i) x.mutable_data<float>()[i] = static_cast<float>(m + 0.02 * i);
  const auto y = layer_norm(x, {12}).to_vector<float>();
  // The inputs themselves carry a rounding of 2e-3 of their spread at m = 30000.
  REQUIRE(y.front() == Approx(first).margin(2e-3));
  REQUIRE(y.back() == Approx(last).margin(2e-3));
}

}  // namespace

TEST_CASE("layer_norm keeps its digits when the mean is large") {
  require_ends(0, -1.591586, 1.591586);
  require_ends(300, -1.591536, 1.591536);
  require_ends(3000, -1.592490, 1.591901);
  require_ends(30000, -1.587201, 1.601309);
  const auto y = layer_norm(tensor<float>({50000, 50002, 50004, 50006}), {4}).to_vector<float>();
  const float wanted[] = {-1.341639f, -0.447214f, 0.447214f, 1.341639f};
  for (std::size_t i = 0; i < 4; ++i)
    REQUIRE(y[i] == Approx(wanted[i]).margin(1e-5));  // six digits are given
}

TEMPLATE_TEST_CASE("norms of constant and zero rows are finite", "", float, double) {
  const DType dtype = dtype_of<TestType>;
  for (const double value : {0.0, 1234.5}) {
    Tensor x = full({1, 300}, value, dtype).set_requires_grad();
    const Tensor bias = full({300}, 0.5, dtype);
    const Tensor y = layer_norm(x, {300}, ones({300}, dtype), bias);
    for (const TestType v : y.to_vector<TestType>()) REQUIRE(v == TestType(0.5));
    backward(y, {.cotangent = ones(y.shape(), dtype)});
    for (const TestType g : x.grad().to_vector<TestType>()) REQUIRE(std::isfinite(g));
  }
  Tensor x = zeros({1, 5}, dtype).set_requires_grad();
  const Tensor y = rms_norm(x, {5});
  backward(y, {.cotangent = ones(y.shape(), dtype)});
  for (const TestType v : y.to_vector<TestType>()) REQUIRE(v == 0);
  for (const TestType g : x.grad().to_vector<TestType>()) REQUIRE(std::isfinite(g));
}

TEST_CASE("fused and composite backward of the norms agree") {
  Generator generator(5);
  Tensor x = randn({5, 19}, generator, DType::f64).set_requires_grad();
  Tensor w = randn({19}, generator, DType::f64).set_requires_grad();
  Tensor b = randn({19}, generator, DType::f64).set_requires_grad();
  for (const bool center : {true, false}) {
    const Tensor y = center ? layer_norm(x, {19}, w, b) : rms_norm(x, {19}, w);
    GradOptions options{.grad_outputs = {randn(y.shape(), generator, DType::f64)},
                        .retain_graph = true,
                        .allow_unused = true};
    const std::vector<Tensor> inputs{x, w, b};
    const auto fused = grad(std::span(&y, 1), inputs, options);
    options.create_graph = true;
    const auto composite = grad(std::span(&y, 1), inputs, options);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      REQUIRE(fused[k].defined() == composite[k].defined());
      if (!fused[k].defined()) continue;
      const auto f = fused[k].to_vector<double>();
      const auto c = composite[k].to_vector<double>();
      for (std::size_t i = 0; i < f.size(); ++i)
        REQUIRE(f[i] == Approx(c[i]).margin(1e-13));  // sums in another order
    }
  }
}
