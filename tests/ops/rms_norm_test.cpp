#include <heed/core/factory.h>
#include <heed/ops/rms_norm.h>

#include "../support/norm_reference.h"
#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"rms_norm",
      "weight",
      {{{3, 7}}, {{7}}},
      binary([](const Tensor& x, const Tensor& w) { return rms_norm(x, {7}, w); }),
      norm_reference(false, 7, 1e-6)},
     {"rms_norm",
      "longer than a vector, large epsilon",
      {{{2, 2, 37}}, {{37}}},
      binary([](const Tensor& x, const Tensor& w) { return rms_norm(x, {37}, w, 0.5); }),
      norm_reference(false, 37, 0.5)},
     {"rms_norm",
      "no weight",
      {{{2, 5}}},
      unary([](const Tensor& x) { return rms_norm(x, {5}); }),
      norm_reference(false, 5, 1e-6)}},
    {throws<DTypeError>(
         "rms_norm", "dtype",
         [] {
           rms_norm(zeros({2, 3}, DType::i32), {3});
         },
         "rms_norm: dtype not supported, x is i32[2, 3]; expected f32 or f64"),
     throws<ShapeError>(
         "rms_norm", "weight",
         [] {
           rms_norm(zeros({2, 3}), {3}, zeros({1}));
         },
         "rms_norm: weight has the wrong shape, weight is [1]; expected [3], the normalized shape")});

}  // namespace
