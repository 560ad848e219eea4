#include <cmath>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/ops/gated_activation.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

double logistic(double v) { return 1 / (1 + std::exp(-v)); }

// Gate of [2, 3, 2n] along the last axis, or of [2n, 5] along the first.
Reference halves(bool first_axis, std::function<double(double, double)> f) {
  return [=](const std::vector<Array>& in) {
    const Shape& shape = in[0].shape;
    Array y{shape, {}};
    const int axis = first_axis ? 0 : shape.rank() - 1;
    y.shape[axis] = shape[axis] / 2;
    const std::int64_t run = first_axis ? element_count(shape) / 2 : shape.back() / 2;
    for (std::int64_t i = 0; i < element_count(shape); i += 2 * run) {
      for (std::int64_t j = i; j < i + run; ++j) {
        y.values.push_back(
            f(in[0].values[static_cast<std::size_t>(j)], in[0].values[static_cast<std::size_t>(j + run)]));
      }
    }
    return y;
  };
}

const auto gate_glu = [](double a, double b) { return a * logistic(b); };
const auto gate_swiglu = [](double a, double b) { return a * logistic(a) * b; };

const Registration registration(
    {{"glu",
      "last axis",
      {{{2, 3, 6}}},
      unary([](const Tensor& x) { return glu(x); }),
      halves(false, gate_glu)},
     {"glu",
      "first axis",
      {{{4, 5}}},
      unary([](const Tensor& x) { return glu(x, 0); }),
      halves(true, gate_glu)},
     {"swiglu",
      "last axis",
      {{{2, 3, 6}}},
      unary([](const Tensor& x) { return swiglu(x); }),
      halves(false, gate_swiglu)},
     {"swiglu",
      "first axis",
      {{{4, 5}}},
      unary([](const Tensor& x) { return swiglu(x, 0); }),
      halves(true, gate_swiglu)}},
    {throws<ShapeError>(
         "glu", "odd axis",
         [] {
           glu(zeros({2, 3}));
         },
         "glu: axis does not halve, axis 1 of [2, 3]; expected an even size"),
     throws<ShapeError>(
         "swiglu", "odd axis",
         [] {
           swiglu(zeros({3, 2}), 0);
         },
         "swiglu: axis does not halve, axis 0 of [3, 2]; expected an even size")});

}  // namespace
