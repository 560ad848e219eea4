#include <heed/core/factory.h>
#include <heed/ops/linear.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// y[r, o] = Σ_i x[r, i] W[o, i] + b[o]
Array reference_linear(const std::vector<Array>& in) {
  const std::int64_t width = in[0].shape.back();
  const std::int64_t out = in[1].shape[0];
  Array y{in[0].shape, {}};
  y.shape[y.shape.rank() - 1] = out;
  for (std::size_t r = 0; r * static_cast<std::size_t>(width) < in[0].values.size(); ++r) {
    for (std::int64_t o = 0; o < out; ++o) {
      double total = in.size() > 2 ? in[2].values[static_cast<std::size_t>(o)] : 0.0;
      for (std::int64_t i = 0; i < width; ++i) {
        total += in[0].values[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] *
                 in[1].values[static_cast<std::size_t>(o * width + i)];
      }
      y.values.push_back(total);
    }
  }
  return y;
}

const Registration registration(
    {{"linear",
      "rows",
      {{{3, 4}}, {{2, 4}}},
      binary([](const Tensor& x, const Tensor& w) { return linear(x, w); }),
      reference_linear},
     {"linear", "bias, three axes", {{{2, 3, 4}}, {{5, 4}}, {{5}}}, ternary(linear), reference_linear},
     {"linear", "one vector", {{{4}}, {{3, 4}}, {{3}}}, ternary(linear), reference_linear}},
    {throws<ShapeError>(
         "linear", "width",
         [] {
           linear(zeros({2, 3}), zeros({4, 5}));
         },
         "linear: last axis of x differs from weight's, x is [2, 3] and weight is [4, 5]; expected x[-1] "
         "== weight[1]"),
     throws<ShapeError>(
         "linear", "bias",
         [] {
           linear(zeros({2, 3}), zeros({4, 3}), zeros({3}));
         },
         "linear: bias has the wrong shape, bias is [3]; expected [4], one number for each row of "
         "weight")});

}  // namespace
