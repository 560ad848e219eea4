// Runs every registered OpCase through every row of the contract that all operations share.
#include <cmath>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

using Tensors = std::vector<Tensor>;

template <class Body>
void for_each_case(Body&& body) {
  for (const OpCase& c : op_cases()) {
    DYNAMIC_SECTION(c.op << ": " << c.name) { body(c); }
  }
}

// Same shape, and |got − wanted| <= tolerance (1 + |wanted|) everywhere; NaN and infinities in the same
// places.
void require_close(const Array& got, const Array& wanted, double tolerance) {
  REQUIRE(got.shape == wanted.shape);
  REQUIRE(got.values.size() == wanted.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double g = got.values[i];
    const double w = wanted.values[i];
    CAPTURE(i, g, w);
    const bool same = g == w || (std::isnan(g) && std::isnan(w));
    REQUIRE((same || std::abs(g - w) <= tolerance * (1 + std::abs(w))));
  }
}

Tensors cotangents_for(const Tensors& outputs, std::uint64_t seed) {
  Generator generator(seed);
  Tensors cotangents;
  for (const Tensor& y : outputs) {
    cotangents.push_back(y.requires_grad() ? randn(y.shape(), generator, y.dtype()) : Tensor());
  }
  return cotangents;
}

Tensors wanted_of(const Tensors& inputs) {
  Tensors wanted;
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) wanted.push_back(x);
  }
  return wanted;
}

Tensors gradients_of(const Tensors& outputs, const Tensors& wanted, bool retain = false) {
  Tensors roots;
  GradOptions options{.retain_graph = retain, .allow_unused = true};
  const Tensors cotangents = cotangents_for(outputs, 7);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  if (roots.empty()) return Tensors(wanted.size());
  return grad(roots, wanted, options);
}

void require_same_gradients(const Tensors& got, const Tensors& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(got[i].defined() == wanted[i].defined());
    if (got[i].defined()) require_close(to_array(got[i]), to_array(wanted[i]), tolerance);
  }
}

// The same elements in a buffer with gaps: every stride doubled, first element not at the start.
Tensor spread(const Tensor& x) {
  View view = x.view();
  std::int64_t step = 2;
  for (int k = x.rank() - 1; k >= 0; --k) {
    view.strides[k] = step;
    step *= x.shape()[k] + 1;
  }
  view.offset = 3;
  Tensor whole = full({step + 3}, 1, x.dtype());
  Tensor y = view_of(whole, view);
  y.copy_(x.detach());
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

// Element 0 along the first axis, repeated with stride 0.
Tensor repeated(const Tensor& x) {
  View view = x.view();
  if (x.rank() > 0) view.strides[0] = 0;
  Tensor y = view_of(x.detach(), view);
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

Tensor dense(const Tensor& x) {
  Tensor y = copy_of(x);
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

template <class Map>
Tensors map_all(const Tensors& inputs, Map&& map) {
  Tensors result;
  for (const Tensor& x : inputs) result.push_back(map(x));
  return result;
}

// Value and gradients agree whatever the strides. Layout may change the order of a sum: 1e-12 is some 5000
// roundings.
void require_layout_independent(const OpCase& c, const Tensors& plain, const Tensors& laid_out) {
  const Tensors a = c.function(plain);
  const Tensors b = c.function(laid_out);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) require_close(to_array(b[i]), to_array(a[i]), 1e-12);
  if (!c.differentiable) return;
  require_same_gradients(gradients_of(b, wanted_of(laid_out)), gradients_of(a, wanted_of(plain)), 1e-12);
}

}  // namespace

TEST_CASE("every exported operation has a case and an error case", "[generic]") {
  std::set<std::string> cases;
  std::set<std::string> errors;
  for (const OpCase& c : op_cases()) cases.insert(c.op);
  for (const ErrorCase& e : error_cases()) errors.insert(e.op);
  std::size_t count = 0;
  const auto exported = [&](const std::string& name) {
    ++count;
    INFO(name);
    CHECK(cases.count(name) == 1);
    CHECK(errors.count(name) == 1);
  };
#define HEED_EXPORTED_OP(header, function) exported(#function);
#include "exported_ops.inc"
#undef HEED_EXPORTED_OP
  WARN(count << " operations, " << op_cases().size() << " cases, " << error_cases().size() << " error cases");
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

TEST_CASE("gradient: gradcheck with random cotangents", "[generic]") {
  for_each_case([](const OpCase& c) {
    if (!c.differentiable) return;
    const auto result = check::gradcheck(c.function, make_inputs(c, DType::f64, 2));
    INFO(result.report());
    REQUIRE(result.passed);
  });
}

TEST_CASE("gradient: f32 agrees with f64", "[generic]") {
  for_each_case([](const OpCase& c) {
    if (!c.differentiable) return;
    const Tensors a = make_inputs(c, DType::f64, 2);
    const Tensors b = make_inputs(c, DType::f32, 2);
    const Tensors ya = c.function(a);
    const Tensors yb = c.function(b);
    // The cotangents are drawn in each dtype from the same bits; ten times the value's bound, for the longer
    // chain.
    require_same_gradients(gradients_of(yb, wanted_of(b)), gradients_of(ya, wanted_of(a)),
                           10 * c.f32_tolerance);
  });
}

TEST_CASE("second gradient: gradcheck of the gradient", "[generic]") {
  for_each_case([](const OpCase& c) {
    if (!c.differentiable || !c.second_order) return;
    const auto result = check::gradgradcheck(c.function, make_inputs(c, DType::f64, 3));
    INFO(result.report());
    REQUIRE(result.passed);
  });
}

TEST_CASE("layout: strided, offset and expanded operands", "[generic]") {
  for_each_case([](const OpCase& c) {
    const Tensors plain = make_inputs(c, DType::f64, 4);
    require_layout_independent(c, plain, map_all(plain, spread));
    const Tensors expanded = map_all(plain, repeated);
    require_layout_independent(c, map_all(expanded, dense), expanded);
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
  for_each_case([](const OpCase& c) {
    if (!c.differentiable) return;
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

TEST_CASE("an overwritten operand or result never gives a wrong gradient", "[generic][report-6]") {
  for_each_case([](const OpCase& c) {
    if (!c.differentiable) return;
    const Tensors reference_inputs = make_inputs(c, DType::f64, 8);
    const Tensors reference = gradients_of(c.function(reference_inputs), wanted_of(reference_inputs));
    const std::size_t victims = reference_inputs.size() + 1;
    for (std::size_t victim = 0; victim < victims; ++victim) {
      Tensors inputs = make_inputs(c, DType::f64, 8);
      Tensors outputs = c.function(inputs);
      Tensor target = victim < inputs.size() ? inputs[victim].detach() : outputs[0].detach();
      if (target.numel() == 0 || has_broadcast_axis(target.view()) || !is_floating(target.dtype())) continue;
      target.fill_(0.125);
      CAPTURE(victim);
      try {
        require_same_gradients(gradients_of(outputs, wanted_of(inputs)), reference, 0);
      } catch (const GradError& e) {
        REQUIRE(std::string(e.what()).find("overwritten before backward") != std::string::npos);
      }
    }
  });
}

TEST_CASE("a second backward says that the graph is gone", "[generic][report-3]") {
  for_each_case([](const OpCase& c) {
    if (!c.differentiable) return;
    const Tensors inputs = make_inputs(c, DType::f64, 9);
    const Tensors outputs = c.function(inputs);
    if (!outputs[0].requires_grad() || outputs[0].is_leaf()) return;
    gradients_of(outputs, wanted_of(inputs));
    REQUIRE_THROWS_WITH(gradients_of(outputs, wanted_of(inputs)), Catch::Contains("retain_graph = true"));
  });
}

TEST_CASE("the number of live nodes returns to its start", "[generic][report-4]") {
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

TEST_CASE("the same bits under 1, 2 and 4 threads", "[generic][report-36]") {
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
