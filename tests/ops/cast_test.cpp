#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/cast.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration(
    {{"cast",
      "to f64",
      {{{2, 3}}},
      unary([](const Tensor& x) { return cast(x, DType::f64); }),
      elementwise([](double v) { return v; })}},
    {throws<DTypeError>(
        "cast", "reserved", [] { cast(zeros({2}), DType::bf16); },
        "cast: dtype is reserved, bf16; expected boolean, i32, i64, f32 or f64")});

}  // namespace

TEST_CASE("floating to integer saturates and NaN gives 0") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({1.9, -1.9, 1e30, -1e30, inf, -inf, std::nan("")});
  const auto low = std::numeric_limits<std::int32_t>::min();
  const auto high = std::numeric_limits<std::int32_t>::max();
  REQUIRE(cast(x, DType::i32).to_vector<std::int32_t>() ==
          std::vector<std::int32_t>{1, -1, high, low, high, low, 0});
  REQUIRE(cast(cast(x, DType::f32), DType::i64).to_vector<std::int64_t>()[2] ==
          std::numeric_limits<std::int64_t>::max());
  REQUIRE(cast(tensor({0.0, 0.5}), DType::boolean).to_vector<bool>() == std::vector<bool>{false, true});
}

TEST_CASE("the gradient of a cast comes back in the old dtype") {
  Tensor x = tensor<float>({1, 2}).set_requires_grad();
  backward(cast(x, DType::f64), {.cotangent = tensor({0.5, 0.25})});
  REQUIRE(x.grad().to_vector<float>() == std::vector<float>{0.5f, 0.25f});
}
