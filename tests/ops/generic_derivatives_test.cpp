// The rows of the generic suite about derivatives: each OpCase against difference quotients of three orders,
// in both dtypes, recorded and not, whatever the layout of its cotangents.
#include <algorithm>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/check/jvp_check.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>

#include "../support/rows.h"

using namespace heed;
using namespace heed::test;

namespace {

void require_passed(const check::GradcheckResult& result) {
  INFO(result.report());
  REQUIRE(result.passed);
}

// (x, cotangents) ↦ the recorded gradients of f at x: a function that can be differentiated like f itself.
// Without cotangents among the inputs they are constants.
Function gradient_function(Function f) {
  return [f = std::move(f)](const Tensors& inputs) {
    const GradMode mode(true);
    Tensors x = inputs;
    // Difference quotients run on plain copies.
    for (Tensor& leaf : x) {
      if (is_floating(leaf.dtype()) && !leaf.requires_grad()) leaf = copy_of(leaf).set_requires_grad();
    }
    const Tensors outputs = f(x);
    Tensors gradients = gradients_of(outputs, wanted_of(x), cotangents_for(outputs), false, true);
    std::erase_if(gradients, [](const Tensor& g) { return !g.defined(); });
    return gradients;
  };
}

Tensors first_and_second(const OpCase& c, const Tensors& inputs) {
  const Tensors outputs = c.function(inputs);
  const Tensors first = gradients_of(outputs, wanted_of(inputs), cotangents_for(outputs), false, true);
  Tensors recorded = first;
  std::erase_if(recorded, [](const Tensor& g) { return !g.defined(); });
  Tensors all = first;
  for (const Tensor& g : gradients_of(recorded, wanted_of(inputs))) all.push_back(g);
  return all;
}

// A gradient that is undefined is zero: which of the two is a matter of form and may change
// with the path taken.
Tensors with_zeros(Tensors gradients, const Tensors& wanted) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& x = wanted[i % wanted.size()];
    if (!gradients[i].defined()) gradients[i] = zeros(x.shape(), x.dtype());
  }
  return gradients;
}

}  // namespace

TEST_CASE("gradient: gradcheck with random cotangents", "[generic]") {
  for_each_differentiable_case(
      [](const OpCase& c) { require_passed(check::gradcheck(c.function, make_inputs(c, DType::f64, 2))); });
}

TEST_CASE("gradient: f32 agrees with f64", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors a = make_inputs(c, DType::f64, 2);
    const Tensors b = make_inputs(c, DType::f32, 2);
    // The cotangents are drawn in each dtype from the same bits; ten times the value's bound,
    // for the longer chain.
    require_same_gradients(gradients_of(c.function(b), wanted_of(b)),
                           gradients_of(c.function(a), wanted_of(a)), 10 * c.f32_tolerance);
  });
}

TEST_CASE("jvp: directional difference quotients", "[generic]") {
  for_each_differentiable_case(
      [](const OpCase& c) { require_passed(check::jvp_check(c.function, make_inputs(c, DType::f64, 13))); });
}

TEST_CASE("second gradient: gradcheck of the gradient", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    require_passed(check::gradgradcheck(c.function, make_inputs(c, DType::f64, 3)));
  });
}

TEST_CASE("second gradient: f32 agrees with f64", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors a = make_inputs(c, DType::f64, 14);
    const Tensors b = make_inputs(c, DType::f32, 14);
    // A hundred times the value's bound: two chains, and cotangents of size 1 on a gradient of any size.
    require_same_gradients(with_zeros(first_and_second(c, b), wanted_of(b)),
                           with_zeros(first_and_second(c, a), wanted_of(a)), 100 * c.f32_tolerance);
  });
}

TEST_CASE("third derivative: jvp of the second gradient", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Function second = gradient_function(gradient_function(c.function));
    // Where terms of size 1 cancel, such as 1 − s, rounding makes stairs of a derivative that
    // is smaller than this.
    require_passed(check::jvp_check(second, make_inputs(c, DType::f64, 15), {.atol = 1e-9}));
  });
}

// Of an option tensor too: one that is given and gets no gradient would never train, and nobody would know.
TEST_CASE("gradient: every floating operand that requires grad has one", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    for (const Input& input : c.inputs) REQUIRE((input.differentiable || !is_floating(input.dtype)));
    const Tensors inputs = make_inputs(c, DType::f64, 23);
    const Tensors outputs = c.function(inputs);
    const Tensors gradients = gradients_of(outputs, wanted_of(inputs));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      CAPTURE(i);
      REQUIRE(gradients[i].defined());
    }
  });
}

// A fused backward runs when nothing is recorded, a composite one when it is: one gradient.
TEST_CASE("gradient: recorded or not, the same", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Tensors inputs = make_inputs(c, dtype, 16);
      const Tensors outputs = c.function(inputs);
      const Tensors wanted = wanted_of(inputs);
      const Tensors cotangents = cotangents_for(outputs);
      const Tensors recorded = gradients_of(outputs, wanted, cotangents, true, true);
      // Two formulas of one gradient: some 5000 roundings of f64.
      require_same_gradients(gradients_of(outputs, wanted, cotangents), recorded,
                             dtype == DType::f64 ? 1e-12 : 10 * c.f32_tolerance);
    }
  });
}

// Fused forms and the operations that they stand for: one value and one gradient, each of them checked.
TEST_CASE("fusion: off, the same values, and gradients that gradcheck passes", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 18);
    const Tensors fused = c.function(inputs);
    const Tensors cotangents = cotangents_for(fused);
    const Tensors wanted = wanted_of(inputs);
    const Tensors gradients = gradients_of(fused, wanted, cotangents, true);
    const NoFusion guard;
    const Tensors composed = c.function(inputs);
    // Two formulas: some 5000 roundings of f64.
    require_same_gradients(composed, fused, 1e-12);
    require_same_gradients(with_zeros(gradients_of(composed, wanted, cotangents), wanted),
                           with_zeros(gradients, wanted), 1e-12);
    require_passed(check::gradcheck(c.function, make_inputs(c, DType::f64, 2)));
  });
}

TEST_CASE("gradient: strided, offset, backward and expanded cotangents", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 17);
    const Tensors outputs = c.function(inputs);
    const Tensors wanted = wanted_of(inputs);
    const Tensors plain = cotangents_for(outputs);
    const Tensors expanded = map_all(plain, repeated);
    for (const bool record : {false, true}) {
      const auto gradients = [&](const Tensors& cotangents) {
        return gradients_of(outputs, wanted, cotangents, true, record);
      };
      // Layout may change the order of a sum: some 5000 roundings.
      require_same_gradients(gradients(map_all(plain, spread)), gradients(plain), 1e-12);
      require_same_gradients(gradients(map_all(plain, backwards)), gradients(plain), 1e-12);
      require_same_gradients(gradients(expanded), gradients(map_all(expanded, dense)), 1e-12);
    }
  });
}

// Operands of two values each, so that many elements are equal, and 0 is among them where the range of the
// case has it; drawn from the range of each or, so that operands tie with each other, all from that of the
// first. Moved together equal elements stay equal, so a tie is no kink in that direction, and its shares must
// add up to the derivative.
TEST_CASE("gradient: at ties, moved together", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const auto of_first = std::find_if(c.inputs.begin(), c.inputs.end(), [](const Input& x) {
      return x.dtype == DType::f32 && x.differentiable;
    });
    for (const bool common : {false, true}) {
      OpCase few = c;
      for (Input& input : few.inputs) {
        if (!input.values.empty()) continue;
        const Input& range = common && input.dtype == DType::f32 ? *of_first : input;
        for (std::int64_t i = 0; i < element_count(input.shape); ++i) {
          const double share = 0.25 * static_cast<double>(1 + i * i % 3);
          input.values.push_back(static_cast<float>(range.low + share * (range.high - range.low)));
        }
      }
      const Tensors inputs = make_inputs(few, DType::f64, 19);
      const Function moved = [&](const Tensors& t) {
        return c.function(
            map_all(inputs, [&](const Tensor& x) { return x.requires_grad() ? add(x.detach(), t[0]) : x; }));
      };
      const auto result = check::gradcheck(moved, {zeros({}, DType::f64).set_requires_grad()});
      CAPTURE(common);
      INFO(result.report());
      // At a jump there is no derivative, and outside of its domain a function is not finite.
      REQUIRE(result.verdict != check::Verdict::differs);
      if (result.verdict == check::Verdict::nonfinite) continue;
      const Tensors small = make_inputs(few, DType::f32, 19);
      require_same_gradients(gradients_of(c.function(small), wanted_of(small)),
                             gradients_of(c.function(inputs), wanted_of(inputs)), 10 * c.f32_tolerance);
    }
  });
}

// What is transposed by mistake has the wrong shape, unless its axes are of one size. Operands that must
// differ in size are refused, and left out.
TEST_CASE("gradient: operands whose axes are all of one size", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    OpCase square = c;
    for (Input& input : square.inputs) {
      if (!input.values.empty()) return;
      for (std::int64_t& size : input.shape) size = 3;
    }
    const Tensors inputs = make_inputs(square, DType::f64, 21);
    try {
      c.function(inputs);
    } catch (const Error&) {
      return;
    }
    require_passed(check::gradcheck(c.function, inputs));
    require_passed(check::gradgradcheck(c.function, inputs, {.extrapolate = false}));
  });
}

// A rule may take another path when a cotangent is absent.
TEST_CASE("gradient: of each result alone", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 22);
    const Tensors outputs = c.function(inputs);
    for (std::size_t i = 0; i < outputs.size() && outputs.size() > 1; ++i) {
      if (!outputs[i].requires_grad()) continue;
      CAPTURE(i);
      require_passed(check::gradcheck([&](const Tensors& x) { return Tensors{c.function(x)[i]}; }, inputs));
    }
  });
}

TEST_CASE("second gradient: strided operands", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors plain = make_inputs(c, DType::f64, 20);
    const Tensors strided = map_all(plain, spread);
    // Layout may change the order of a sum: some 5000 roundings, through two chains.
    require_same_gradients(first_and_second(c, strided), first_and_second(c, plain), 1e-11);
  });
}

// Lengths round a vector of 4, 8 and 16 elements, and beyond the 256 that a kernel takes at a time: value and
// gradient of each element are those it has alone, strided or not.
TEST_CASE("elementwise operations of all lengths, in both dtypes", "[generic]") {
  for_each_case_that(is_elementwise, [](const OpCase& c) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 67, 300}) {
      OpCase line = c;
      for (Input& input : line.inputs) {
        std::vector<double> tiled;
        for (std::int64_t i = 0; i < n && !input.values.empty(); ++i) {
          tiled.push_back(input.values[static_cast<std::size_t>(i) % input.values.size()]);
        }
        if (!input.values.empty() || element_count(input.shape) > 0) input.values = tiled;
        input.shape = {n};
      }
      CAPTURE(n);
      const Tensors inputs = make_inputs(line, DType::f64, 18);
      std::vector<Array> arrays;
      for (const Tensor& x : inputs) arrays.push_back(to_array(x));
      const Array wanted = c.reference(arrays);
      const Tensors outputs = c.function(inputs);
      require_close(to_array(outputs[0]), wanted, 1e-12);  // some 5000 roundings of f64
      const Tensors small = make_inputs(line, DType::f32, 18);
      const Tensors small_outputs = c.function(small);
      require_close(to_array(small_outputs[0]), wanted, c.f32_tolerance);
      const Tensors strided = map_all(small, spread);
      const Tensors strided_outputs = c.function(strided);
      require_close(to_array(strided_outputs[0]), to_array(small_outputs[0]), c.f32_tolerance);
      if (!c.differentiable) continue;

      const Tensors gradients = gradients_of(outputs, wanted_of(inputs));
      require_same_gradients(gradients_of(small_outputs, wanted_of(small)), gradients, 10 * c.f32_tolerance);
      require_same_gradients(gradients_of(strided_outputs, wanted_of(strided)), gradients,
                             10 * c.f32_tolerance);
      const Tensor cotangent = cotangents_for(outputs)[0];
      const auto element = [](const Tensor& x, std::int64_t i) {
        Tensor e = copy_of(view_of(x.detach(), slice_view("test", x.view(), 0, i, i + 1, 1)));
        return x.requires_grad() ? e.set_requires_grad() : e;
      };
      for (std::int64_t i = 0; i < n; ++i) {
        const Tensors alone = map_all(inputs, [&](const Tensor& x) { return element(x, i); });
        require_same_gradients(map_all(gradients, [&](const Tensor& g) { return element(g, i); }),
                               gradients_of(c.function(alone), wanted_of(alone), {element(cotangent, i)}),
                               1e-12);
      }
    }
  });
}
