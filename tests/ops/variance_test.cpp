#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/variance.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

double spread(const Line& x, double correction) {
  double mean = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  double total = 0;
  for (const double v : x) total += (v - mean) * (v - mean);
  return total / (static_cast<double>(x.size()) - correction);
}

std::function<Line(const Line&)> variance_of(double correction, bool root = false) {
  return [=](const Line& x) {
    const double v = spread(x, correction);
    return Line{root ? std::sqrt(v) : v};
  };
}

const Registration registration(
    {
        {"variance",
         "everything, unbiased",
         {{{3, 4}}},
         unary([](const Tensor& x) { return variance(x); }),
         over_all([](const Line& x) { return spread(x, 1); })},
        {"variance",
         "last axis, biased",
         {{{3, 30}}},
         unary([](const Tensor& x) { return variance(x, {-1}, 0); }),
         along(1, variance_of(0), true)},
        {"variance",
         "first axis kept",
         {{{5, 3}}},
         unary([](const Tensor& x) { return variance(x, {0}, 1, true); }),
         along(0, variance_of(1))},
        {"standard_deviation",
         "last axis, unbiased",
         {{{3, 5}}},
         unary([](const Tensor& x) { return standard_deviation(x, {1}); }),
         along(1, variance_of(1, true), true)},
        {"standard_deviation",
         "middle axis kept, biased",
         {{{2, 5, 3}}},
         unary([](const Tensor& x) { return standard_deviation(x, {1}, 0, true); }),
         along(1, variance_of(0, true))},
    },
    {
        throws<DTypeError>(
            "variance", "integers", [] { variance(zeros({2}, DType::i64)); },
            "variance: dtype not supported, x is i64[2]; expected f32 or f64"),
        throws<ValueError>(
            "standard_deviation", "an axis twice",
            [] {
              standard_deviation(zeros({2, 2}), {0, 0});
            },
            "standard_deviation: an axis is given twice, axes are [0, 0]; expected different axes"),
    });

}  // namespace

TEST_CASE("variance of numbers far from zero keeps its digits") {
  Tensor x = empty({12});
  for (int i = 0; i < 12; ++i) x.mutable_data<float>()[i] = 30000.0f + 0.25f * static_cast<float>(i);
  // The inputs are exact, so the answer is 0.0625 · (144 − 1)/12, rounded once.
  CHECK(variance(x, {0}, 0).item<float>() == static_cast<float>(0.0625 * 143.0 / 12.0));
}

TEST_CASE("too few elements, and a constant row") {
  CHECK(std::isnan(variance(ones({1})).item<float>()));
  Tensor x = ones({4}, DType::f64);
  x.set_requires_grad();
  CHECK(grad(standard_deviation(x), x).to_vector<double>() == std::vector<double>{0, 0, 0, 0});
}
