#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/extremum.h>
#include <heed/ops/sum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

Line largest(const Line& x) { return {*std::max_element(x.begin(), x.end())}; }
Line smallest(const Line& x) { return {*std::min_element(x.begin(), x.end())}; }
Line first_largest(const Line& x) {
  return {static_cast<double>(std::max_element(x.begin(), x.end()) - x.begin())};
}
Line first_smallest(const Line& x) {
  return {static_cast<double>(std::min_element(x.begin(), x.end()) - x.begin())};
}

Function values_of(ValuesIndices (*f)(const Tensor&, std::int64_t, bool), std::int64_t axis, bool keepdim) {
  return [=](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0], axis, keepdim).values}; };
}

const Registration registration(
    {
        {"amax",
         "everything",
         {{{3, 4}}},
         unary([](const Tensor& x) { return amax(x); }),
         over_all([](const Line& x) { return largest(x)[0]; })},
        {"amax",
         "last axis",
         {{{3, 40}}},
         unary([](const Tensor& x) { return amax(x, {-1}); }),
         along(1, largest, true)},
        {"amax",
         "first axis kept",
         {{{5, 3}}},
         unary([](const Tensor& x) { return amax(x, {0}, true); }),
         along(0, largest)},
        {"amin",
         "middle axis",
         {{{2, 5, 3}}},
         unary([](const Tensor& x) { return amin(x, {1}); }),
         along(1, smallest, true)},
        {"amin",
         "no results",
         {{{0, 3}}},
         unary([](const Tensor& x) { return amin(x, {1}); }),
         elements({0}, {})},
        {"max", "last axis", {{{3, 40}}}, values_of(max, -1, false), along(1, largest, true)},
        {"max", "first axis kept", {{{5, 3}}}, values_of(max, 0, true), along(0, largest)},
        {"max",
         "no axes",
         {{{}}},
         values_of(max, 0, false),
         [](const std::vector<Array>& in) { return in[0]; }},
        {"min", "middle axis", {{{2, 5, 3}}}, values_of(min, 1, false), along(1, smallest, true)},
        {.op = "argmax",
         .name = "last axis",
         .inputs = {{{3, 40}}},
         .function = unary([](const Tensor& x) { return argmax(x, 1); }),
         .reference = along(1, first_largest, true),
         .differentiable = false},
        {.op = "argmin",
         .name = "first axis kept",
         .inputs = {{{5, 3}}},
         .function = unary([](const Tensor& x) { return argmin(x, 0, true); }),
         .reference = along(0, first_smallest),
         .differentiable = false},
    },
    {
        throws<ValueError>(
            "amax", "nothing", [] { amax(zeros({0})); },
            "amax: nothing to reduce, and no value to give for it, x is [0]; expected one element or more "
            "along the reduced axes"),
        throws<ValueError>(
            "amin", "nothing",
            [] {
              amin(zeros({0, 3}), {0});
            },
            "amin: nothing to reduce, and no value to give for it, x is [0, 3]; expected one element or more "
            "along the reduced axes"),
        throws<ValueError>(
            "max", "nothing",
            [] {
              max(zeros({2, 0}), 1);
            },
            "max: nothing to reduce, and no value to give for it, x is [2, 0]; expected one element or more "
            "along the reduced axes"),
        throws<IndexError>(
            "min", "axis", [] { min(zeros({2}), 1); },
            "min: axis out of range, axis is 1 and the tensor has 1 axes; expected -1 <= axis < 1"),
        throws<ValueError>(
            "argmax", "nothing", [] { argmax(zeros({0}), 0); },
            "argmax: nothing to reduce, and no value to give for it, x is [0]; expected one element or more "
            "along the reduced axes"),
        throws<DTypeError>(
            "argmin", "boolean", [] { argmin(zeros({2}, DType::boolean), 0); },
            "argmin: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
    });

std::vector<double> gradient(const Tensor& y, const Tensor& x) { return grad(sum(y), x).to_vector<double>(); }

}  // namespace

TEST_CASE("ties: amax and amin share the gradient, max and min give it to the first") {
  Tensor x = tensor({1.0, 3.0, 3.0, 1.0, 3.0, 1.0}, {2, 3});
  x.set_requires_grad();
  CHECK(gradient(amax(x, {1}), x) == std::vector<double>{0, 0.5, 0.5, 0, 1, 0});
  CHECK(gradient(amin(x, {1}), x) == std::vector<double>{1, 0, 0, 0.5, 0, 0.5});
  CHECK(gradient(amax(x), x)[1] == Approx(1.0 / 3));
  CHECK(gradient(max(x, 1).values, x) == std::vector<double>{0, 1, 0, 0, 1, 0});
  CHECK(gradient(min(x, 1).values, x) == std::vector<double>{1, 0, 0, 1, 0, 0});
  CHECK(max(x, 1).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 1});
  CHECK(argmin(x, 1).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("the first of equals is found in long lines, whatever the lanes and blocks") {
  Tensor x = zeros({100000});
  CHECK(argmax(x, 0).item<std::int64_t>() == 0);
  for (const std::int64_t first : {7, 40000, 99990}) {
    Tensor y = zeros({100000});
    float* data = y.mutable_data<float>();
    for (std::int64_t i = first; i < 100000; i += 3) data[i] = 1;
    CHECK(argmax(y, 0).item<std::int64_t>() == first);
  }
}

TEST_CASE("NaN survives every extremum at every position") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t n = 1; n <= 33; ++n) {
    for (std::int64_t at = 0; at < n; ++at) {
      Tensor x = ones({n});
      x.mutable_data<float>()[at] = nan;
      CAPTURE(n, at);
      CHECK(std::isnan(amax(x).item<float>()));
      CHECK(std::isnan(amin(x).item<float>()));
      CHECK(argmax(x, 0).item<std::int64_t>() == at);
      CHECK(std::isnan(min(x, 0).values.item<float>()));
    }
  }
}
