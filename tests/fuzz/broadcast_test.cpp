// Binary operations on random pairs of shapes that broadcast, in random layouts, against loops; the gradients
// too, which are summed to the operands' shapes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops.h>

#include "../support/index_map.h"
#include "../support/rows.h"
#include "program.h"

using namespace heed;
using namespace heed::test;

namespace {

using Partial = double (*)(double, double);

struct BinaryOp {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  Partial f;
  Partial by_a = nullptr;  // null where the result is a constant
  Partial by_b = nullptr;
};

const BinaryOp ops[] = {
    {"add", add, [](double a, double b) { return a + b; }, [](double, double) { return 1.0; },
     [](double, double) { return 1.0; }},
    {"sub", sub, [](double a, double b) { return a - b; }, [](double, double) { return 1.0; },
     [](double, double) { return -1.0; }},
    {"mul", mul, [](double a, double b) { return a * b; }, [](double, double b) { return b; },
     [](double a, double) { return a; }},
    {"div", div, [](double a, double b) { return a / b; }, [](double, double b) { return 1 / b; },
     [](double a, double b) { return -a / (b * b); }},
    {"maximum", maximum, [](double a, double b) { return std::max(a, b); },
     [](double a, double b) { return a > b ? 1.0 : 0.0; },
     [](double a, double b) { return a > b ? 0.0 : 1.0; }},
    {"minimum", minimum, [](double a, double b) { return std::min(a, b); },
     [](double a, double b) { return a < b ? 1.0 : 0.0; },
     [](double a, double b) { return a < b ? 0.0 : 1.0; }},
    {"pow", pow, [](double a, double b) { return std::pow(a, b); },
     [](double a, double b) { return b * std::pow(a, b - 1); },
     [](double a, double b) { return std::pow(a, b) * std::log(a); }},
    {"atan2", atan2, [](double a, double b) { return std::atan2(a, b); },
     [](double a, double b) { return b / (a * a + b * b); },
     [](double a, double b) { return -a / (a * a + b * b); }},
    {"where(a > b, a, b * b)", [](const Tensor& a, const Tensor& b) { return where(gt(a, b), a, mul(b, b)); },
     [](double a, double b) { return a > b ? a : b * b; },
     [](double a, double b) { return a > b ? 1.0 : 0.0; },
     [](double a, double b) { return a > b ? 0.0 : 2 * b; }},
    {"lt", lt, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"ge", ge, [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
};

struct Layout {
  const char* name;
  Tensor (*of)(const Tensor&);
};
const Layout layouts[] = {
    {"dense", [](const Tensor& x) { return x; }},
    {"strided", spread},
    {"backwards", backwards},
    {"column-major", [](const Tensor& x) { return x.rank() < 2 ? x : transpose(dense(transpose(x))); }}};

// Shapes of the two operands and of the result, from the steps: the first says operation, dtype and layouts,
// each other one is an axis, from the last to the first.
struct Pair {
  Shape a, b, result;
};

Pair shapes_of(const fuzz::Program& program) {
  Pair pair;
  bool a_ends = false;
  bool b_ends = false;
  for (std::size_t i = 1; i < program.size(); ++i) {
    const auto& n = program[i].numbers;
    const std::int64_t size = n[0] % 16 == 15 ? 0 : 1 + n[0] % 5;
    a_ends = a_ends || n[2] % 8 == 7;  // the operand has no more axes
    b_ends = b_ends || (!a_ends && n[2] % 8 == 6);
    const std::int64_t a = n[1] % 4 == 1 ? 1 : size;
    const std::int64_t b = n[1] % 4 == 2 ? 1 : size;
    if (!a_ends) pair.a.insert(0, a);
    if (!b_ends) pair.b.insert(0, b);
    if (!a_ends || !b_ends)
      pair.result.insert(0, a_ends ? b : b_ends ? a : std::min(a, b) == 0 ? 0 : std::max(a, b));
  }
  return pair;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string difference(const char* what, const Tensor& got, const Shape& shape,
                       const std::vector<double>& wanted, double tolerance) {
  if (!(got.shape() == shape)) return std::string(what) + " is of shape " + got.shape().str();
  const Array values = to_array(got);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::abs(values.values[i] - wanted[i]) <= tolerance * (1 + std::abs(wanted[i]))) continue;
    std::ostringstream text;
    text << "element " << i << " of " << what << " is " << values.values[i] << ", not " << wanted[i];
    return text.str();
  }
  return "";
}

fuzz::Outcome try_pair(const fuzz::Program& program) {
  const fuzz::Step head = program.empty() ? fuzz::Step{} : program[0];
  const BinaryOp& op = ops[head.numbers[0] % std::size(ops)];
  const DType dtype = head.numbers[1] % 2 == 0 ? DType::f64 : DType::f32;
  const Pair shapes = shapes_of(program);
  const Layout& layout_a = layouts[head.numbers[2] % std::size(layouts)];
  const Layout& layout_b = layouts[head.numbers[3] % std::size(layouts)];
  std::ostringstream text;
  text << op.name << " of " << layout_a.name << " " << shapes.a.str() << " and " << layout_b.name << " "
       << shapes.b.str() << " in " << (dtype == DType::f64 ? "f64" : "f32") << "\n";

  // Away from 0, where quotients and powers are tame.
  Generator generator(8);
  const Tensor a = layout_a.of(rand(shapes.a, generator, dtype, 0.5, 2.5)).set_requires_grad();
  const Tensor b = layout_b.of(rand(shapes.b, generator, dtype, 0.5, 2.5)).set_requires_grad();
  const Tensor y = op.op(a, b);
  const auto at_a = broadcast_map(shapes.a, shapes.result).places;
  const auto at_b = broadcast_map(shapes.b, shapes.result).places;
  const auto x = to_array(a).values;
  const auto z = to_array(b).values;
  std::vector<double> wanted;
  for (std::size_t i = 0; i < at_a.size(); ++i) wanted.push_back(op.f(x[index(at_a[i])], z[index(at_b[i])]));
  // Some 5000 roundings of f64; of f32 32 for the power, times sums of at most 125 terms that are added
  // up in double.
  const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
  std::string failure = difference("the value", y, shapes.result, wanted, tolerance);
  if (!failure.empty() || op.by_a == nullptr) return {text.str(), failure};

  const Tensor u = randn(y.shape(), generator, dtype);
  const auto cotangent = to_array(u).values;
  std::vector<double> da(x.size(), 0.0);
  std::vector<double> db(z.size(), 0.0);
  for (std::size_t i = 0; i < cotangent.size(); ++i) {
    const std::size_t k = index(at_a[i]);
    const std::size_t l = index(at_b[i]);
    da[k] += cotangent[i] * op.by_a(x[k], z[l]);
    db[l] += cotangent[i] * op.by_b(x[k], z[l]);
  }
  const auto gradients = grad(std::span(&y, 1), std::vector<Tensor>{a, b}, {.grad_outputs = {u}});
  failure = difference("the gradient of a", gradients[0], shapes.a, da, tolerance);
  if (failure.empty()) failure = difference("the gradient of b", gradients[1], shapes.b, db, tolerance);
  return {text.str(), failure};
}

}  // namespace

TEST_CASE("binary operations broadcast as loops do, gradients too", "[fuzz]") {
  fuzz::run(40000, 6, try_pair);
}
