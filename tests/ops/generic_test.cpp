// Runs every registered OpCase through every row of the contract that all operations share; the rows about
// derivatives are in generic_derivatives_test.cpp.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/parallel.h>
#include <heed/ops/compare.h>

#include "../support/contracts.h"
#include "../support/rows.h"

using namespace heed;
using namespace heed::test;

namespace {

// Value and gradients agree whatever the strides. Layout may change the order of a sum, and in f32 whether a
// term is fused with its product.
void require_layout_independent(const OpCase& c, const Tensors& plain, const Tensors& laid_out,
                                double tolerance) {
  const Tensors a = c.function(plain);
  const Tensors b = c.function(laid_out);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) require_close(to_array(b[i]), to_array(a[i]), tolerance);
  if (!c.differentiable) return;
  require_same_gradients(gradients_of(b, wanted_of(laid_out)), gradients_of(a, wanted_of(plain)),
                         10 * tolerance);
}

// Other elements in the place of x's, of which each is a legal operand wherever x's are.
void overwrite(Tensor x) {
  if (x.numel() == 0) return;
  if (x.dtype() == DType::boolean) {
    x.copy_(logical_not(copy_of(x)));
  } else if (is_floating(x.dtype())) {
    x.fill_(0.125);
  } else {  // one of its own elements, or the one below where all are equal: an index stays one
    const std::vector<double> elements = to_array(x).values;
    const auto [least, largest] = std::minmax_element(elements.begin(), elements.end());
    x.fill_(*least != *largest ? *least : std::max(*least - 1, 0.0));
  }
}

// When something is overwritten: before a plain backward, before one that is recorded, or between that and
// the second derivative.
enum class Moment { first, recorded, second };

// The gradients of a case, and for the last two moments those of the gradients too; `victim` is an operand,
// or the first result, that is overwritten at that moment.
Tensors derivatives(const OpCase& c, const Tensors& inputs, Moment moment,
                    std::optional<std::size_t> victim) {
  const Tensors outputs = c.function(inputs);
  const auto overwrite_victim = [&] {
    if (!victim) return;
    const Tensor& target = *victim < inputs.size() ? inputs[*victim] : outputs[0];
    if (!has_broadcast_axis(target.view())) overwrite(target.detach());
  };
  if (moment != Moment::second) overwrite_victim();
  const Tensors wanted = wanted_of(inputs);
  const Tensors first =
      gradients_of(outputs, wanted, cotangents_for(outputs), false, moment != Moment::first);
  if (moment == Moment::first) return first;
  Tensors all = map_all(first, copy_of);  // a gradient may be an operand itself, and change with it
  if (moment == Moment::second) overwrite_victim();
  Tensors recorded = first;
  std::erase_if(recorded, [](const Tensor& g) { return !g.defined(); });
  for (const Tensor& g : gradients_of(recorded, wanted)) all.push_back(g);
  return all;
}

}  // namespace

TEST_CASE("every exported operation has a case, an error case and a contract that its cases keep",
          "[generic]") {
  std::set<std::string> cases;
  std::set<std::string> errors;
  std::set<std::string> differentiated;
  for (const OpCase& c : op_cases()) {
    cases.insert(c.op);
    if (c.differentiable) differentiated.insert(c.op);
  }
  for (const ErrorCase& e : error_cases()) errors.insert(e.op);
  const auto all = contracts();
  for (const Contract& contract : all) {
    INFO(contract.header << ": " << contract.op);
    CHECK(cases.count(contract.op) == 1);
    CHECK(errors.count(contract.op) == 1);
    CHECK(!contract.equation.empty());
    for (const char* part : {"Shapes", "DTypes", "Gradient", "Order", "Saves", "Throws"}) {
      INFO(part);
      REQUIRE(contract.parts.count(part) == 1);
      CHECK(!contract.parts.at(part).empty());
    }
    // "any", or "–" for a result that is a constant.
    const bool any = contract.parts.at("Order") == "any";
    CHECK((any || contract.parts.at("Order").starts_with("–")));
    CHECK(differentiated.count(contract.op) == (any ? 1 : 0));
  }
  WARN(all.size() << " operations, " << op_cases().size() << " cases, " << error_cases().size()
                  << " error cases");
}

TEST_CASE("value: agrees with the reference in f64 and f32", "[generic]") {
  for_each_case([](const OpCase& c) {
    Tensors inputs = make_inputs(c, DType::f64, 1);
    std::vector<Array> arrays;
    for (const Tensor& x : inputs) arrays.push_back(to_array(x));
    const Array wanted = c.reference(arrays);
    require_close(to_array(c.function(inputs).at(0)), wanted, 1e-12);  // some 5000 roundings of f64
    require_close(to_array(c.function(make_inputs(c, DType::f32, 1)).at(0)), wanted, c.f32_tolerance);
  });
}

TEST_CASE("layout: strided, offset, backward and expanded operands", "[generic]") {
  for_each_case([](const OpCase& c) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const double tolerance = dtype == DType::f64 ? 1e-12 : c.f32_tolerance;  // some 5000 roundings of f64
      const Tensors plain = make_inputs(c, dtype, 4);
      require_layout_independent(c, plain, map_all(plain, spread), tolerance);
      require_layout_independent(c, plain, map_all(plain, backwards), tolerance);
      const Tensors expanded = map_all(plain, repeated);
      require_layout_independent(c, map_all(expanded, dense), expanded, tolerance);
    }
  });
}

TEST_CASE("no-grad records nothing and needs no graph", "[generic]") {
  for_each_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 5);
    const std::int64_t before = tape_stats().live_nodes;
    const NoGrad guard;
    for (const Tensor& y : c.function(inputs)) {
      // A result that is an operand itself keeps the operand's own node.
      const bool same =
          std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return x.impl() == y.impl(); });
      REQUIRE((same || !y.requires_grad()));
    }
    REQUIRE(tape_stats().live_nodes == before);
  });
}

TEST_CASE("asking one gradient gives that one", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 6);
    const Tensors wanted = wanted_of(inputs);
    const Tensors outputs = c.function(inputs);
    const Tensors all = gradients_of(outputs, wanted, true);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tensors one = gradients_of(outputs, {wanted[i]}, true);
      require_same_gradients(one, {all[i]}, 0);
    }
  });
}

// Every operand, of any dtype, and the first result: one that is written to between forward and backward, or
// between the first derivative and the second, is an error that names it and its versions, or makes no
// difference to what comes out.
TEST_CASE("an overwritten operand or result never gives a wrong gradient, in first and second order",
          "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    for (const Moment moment : {Moment::first, Moment::recorded, Moment::second}) {
      const Tensors untouched = make_inputs(c, DType::f64, 8);
      const Tensors reference = derivatives(c, untouched, moment, {});
      for (std::size_t victim = 0; victim <= untouched.size(); ++victim) {
        const Tensors inputs = make_inputs(c, DType::f64, 8);
        CAPTURE(victim, static_cast<int>(moment));
        try {
          require_same_gradients(derivatives(c, inputs, moment, victim), reference, 0);
        } catch (const GradError& e) {
          const std::string message = e.what();
          CAPTURE(message);
          REQUIRE(message.find(": a saved tensor was overwritten before backward, ") != std::string::npos);
          REQUIRE(message.find("; expected version ") != std::string::npos);
        }
      }
    }
  });
}

TEST_CASE("a second backward says that the graph is gone", "[generic]") {
  for_each_differentiable_case([](const OpCase& c) {
    const Tensors inputs = make_inputs(c, DType::f64, 9);
    const Tensors outputs = c.function(inputs);
    if (!outputs[0].requires_grad() || outputs[0].is_leaf()) return;
    gradients_of(outputs, wanted_of(inputs));
    REQUIRE_THROWS_WITH(gradients_of(outputs, wanted_of(inputs)), Catch::Contains("retain_graph = true"));
  });
}

TEST_CASE("the number of live nodes returns to its start", "[generic]") {
  for_each_case([](const OpCase& c) {
    const std::int64_t before = tape_stats().live_nodes;
    {
      const Tensors inputs = make_inputs(c, DType::f64, 10);
      const Tensors outputs = c.function(inputs);
      if (c.differentiable) gradients_of(outputs, wanted_of(inputs));
      const Tensors dropped = c.function(inputs);
    }
    REQUIRE(tape_stats().live_nodes == before);
    REQUIRE(tape_stats().saved_bytes == 0);
  });
}

TEST_CASE("the same bits under 1, 2 and 4 threads", "[generic]") {
  const int threads = num_threads();
  for_each_case([&](const OpCase& c) {
    std::vector<std::vector<Array>> runs;
    for (const int count : {1, 2, 4}) {
      set_num_threads(count);
      const Tensors inputs = make_inputs(c, DType::f32, 11);
      const Tensors outputs = c.function(inputs);
      std::vector<Array> arrays;
      for (const Tensor& y : outputs) arrays.push_back(to_array(y));
      if (c.differentiable) {
        for (const Tensor& g : gradients_of(outputs, wanted_of(inputs))) {
          if (g.defined()) arrays.push_back(to_array(g));
        }
      }
      runs.push_back(std::move(arrays));
    }
    set_num_threads(threads);
    for (const auto& run : runs) {
      REQUIRE(run.size() == runs[0].size());
      for (std::size_t i = 0; i < run.size(); ++i) require_close(run[i], runs[0][i], 0);
    }
  });
}

TEST_CASE("operands of other dtypes work or are refused by name", "[generic]") {
  for_each_case([](const OpCase& c) {
    for (const DType dtype : {DType::boolean, DType::i32, DType::i64}) {
      const Tensors inputs = make_inputs(c, dtype, 12);
      try {
        for (const Tensor& y : c.function(inputs)) REQUIRE(y.defined());
      } catch (const DTypeError& e) {
        REQUIRE(std::string(e.what()).find(": ") != std::string::npos);
      } catch (const ValueError& e) {  // an integer division by a drawn 0, or a value outside the domain
        REQUIRE(std::string(e.what()).find("expected") != std::string::npos);
      }
    }
  });
}

TEST_CASE("errors have the promised type and text, and record nothing", "[generic]") {
  for (const ErrorCase& e : error_cases()) {
    DYNAMIC_SECTION(e.op << ": " << e.name) {
      const std::int64_t before = tape_stats().live_nodes;
      std::string message = "no error";
      bool right_type = false;
      try {
        e.call();
      } catch (const std::exception& error) {
        message = error.what();
        right_type = e.matches(error);
      }
      CHECK(message == e.message);
      CHECK(right_type);
      CHECK(tape_stats().live_nodes == before);
    }
  }
}
