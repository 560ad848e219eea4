#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/vector_norm.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double norm(const Line& x, double order) {
  double total = 0;
  for (const double v : x) {
    total = std::isinf(order) ? std::max(total, std::abs(v)) : total + std::pow(std::abs(v), order);
  }
  return std::isinf(order) ? total : std::pow(total, 1 / order);
}

std::function<Line(const Line&)> norm_of(double order) {
  return [order](const Line& x) { return Line{norm(x, order)}; };
}

Function over(double order, Shape axes, bool keepdim = false) {
  return unary([=](const Tensor& x) { return vector_norm(x, order, axes, keepdim); });
}

const Registration registration(
    {
        {"vector_norm",
         "everything",
         {{{3, 4}}},
         unary([](const Tensor& x) { return vector_norm(x); }),
         over_all([](const Line& x) { return norm(x, 2); })},
        {"vector_norm", "2, last axis", {{{3, 30}}}, over(2, {-1}), along(1, norm_of(2), true)},
        {"vector_norm", "1, first axis kept", {{{5, 3}}}, over(1, {0}, true), along(0, norm_of(1))},
        {"vector_norm", "inf, last axis", {{{3, 5}}}, over(inf, {1}), along(1, norm_of(inf), true)},
        {"vector_norm", "3, middle axis", {{{2, 5, 3}}}, over(3, {1}), along(1, norm_of(3), true)},
        {"vector_norm", "0.5", {{{2, 4}, 0.5, 2.0}}, over(0.5, {1}), along(1, norm_of(0.5), true)},
        {"vector_norm", "over nothing", {{{2, 0}}}, over(2, {1}), elements({2}, {0, 0})},
    },
    {
        throws<ValueError>(
            "vector_norm", "order", [] { vector_norm(zeros({2}), 0); },
            "vector_norm: bad order, order is 0; expected order > 0"),
        throws<ValueError>(
            "vector_norm", "inf over nothing", [] { vector_norm(zeros({0}), inf); },
            "vector_norm: nothing to reduce, and no value to give for it, x is [0]; expected one element or "
            "more along the reduced axes"),
    });

}  // namespace

TEST_CASE("the gradient of a norm at zero is zero") {
  for (const double order : {0.5, 1.0, 1.5, 2.0, 3.0, inf}) {
    CAPTURE(order);
    Tensor x = zeros({3}, DType::f64);
    x.set_requires_grad();
    const Tensor y = vector_norm(x, order);
    CHECK(y.item<double>() == 0);
    CHECK(grad(y, x).to_vector<double>() == std::vector<double>{0, 0, 0});
  }
}

TEST_CASE("norms of large numbers do not overflow") {
  CHECK(vector_norm(full({64}, 1e20f)).item<float>() == Approx(8e20f));
  CHECK(vector_norm(full({4}, 1e200, DType::f64)).item<double>() == Approx(2e200));
}
