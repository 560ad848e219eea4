#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/rope.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

Input positions(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 1, std::move(values), DType::i64, false};
}

// x [B, H, L, D], positions [L] or [B, L]: each pair as a complex number, rotated.
Reference rotated(const RopeOptions& options) {
  return [options](const std::vector<Array>& in) {
    Array y = in[0];
    const std::int64_t length = y.shape[2];
    const std::int64_t width = y.shape[3];
    const std::int64_t rotary = options.rotary == 0 ? width : options.rotary;
    const bool pairs = options.layout == RopeLayout::interleaved;
    for (std::int64_t row = 0; row < element_count(y.shape) / width; ++row) {
      const std::int64_t batch = in[1].shape.rank() == 2 ? row / (y.shape[1] * length) : 0;
      const double p = in[1].values[static_cast<std::size_t>(batch * length + row % length)];
      for (std::int64_t k = 0; k < rotary / 2; ++k) {
        const auto i = static_cast<std::size_t>(row * width + (pairs ? 2 * k : k));
        const std::size_t j = i + static_cast<std::size_t>(pairs ? 1 : rotary / 2);
        const double angle =
            p / std::pow(options.base, 2.0 * static_cast<double>(k) / static_cast<double>(rotary));
        const double a = in[0].values[i];
        const double b = in[0].values[j];
        y.values[i] = a * std::cos(angle) - b * std::sin(angle);
        y.values[j] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
    return y;
  };
}

OpCase rope_case(const char* name, Shape shape, Input where, const RopeOptions& options) {
  return {"rope",
          name,
          {{std::move(shape)}, std::move(where)},
          binary([options](const Tensor& x, const Tensor& p) { return rope(x, p, options); }),
          rotated(options)};
}

const Registration registration(
    {
        rope_case("half", {2, 2, 3, 4}, positions({3}, {0, 1, 2}), {}),
        rope_case("interleaved", {2, 2, 3, 4}, positions({3}, {5, 6, 7}), {RopeLayout::interleaved}),
        rope_case("half, a part, for each sample", {2, 2, 3, 6}, positions({2, 3}, {0, 1, 2, 9, 11, 10}),
                  {RopeLayout::half, 100, 4}),
        rope_case("interleaved, a part", {1, 2, 3, 6}, positions({3}, {-1, 0, 1000000}),
                  {RopeLayout::interleaved, 500, 2}),
        rope_case("no positions", {2, 2, 0, 4}, positions({0}, {}), {}),
    },
    {
        throws<ValueError>(
            "rope", "odd",
            [] {
              rope(zeros({1, 1, 2, 5}), zeros({2}, DType::i64));
            },
            "rope: bad rotary, rotary is 5; expected an even number up to the 5 dimensions of x"),
        throws<ShapeError>(
            "rope", "positions",
            [] {
              rope(zeros({1, 1, 2, 4}), zeros({3}, DType::i64));
            },
            "rope: positions has the wrong shape, positions is [3]; expected [2], [L], or [B, L]"),
        throws<DTypeError>(
            "rope", "floating positions",
            [] {
              rope(zeros({1, 1, 2, 4}), zeros({2}));
            },
            "rope: dtype not supported, positions is f32[2]; expected i32 or i64"),
    });

}  // namespace

TEST_CASE("products of rotated queries and keys depend on the distance alone, far from the start too") {
  Generator generator(1);
  const Tensor q = randn({1, 64}, generator);
  const Tensor k = randn({1, 64}, generator);
  const auto product = [&](std::int64_t start) {
    const auto a = rope(q, tensor({start + 3})).to_vector<float>();
    const auto b = rope(k, tensor({start})).to_vector<float>();
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return total;
  };
  // Angles in double: at position 10^6 they keep ten digits, so the rest is rounding of 64 f32 products.
  CHECK(product(1000000) == Approx(product(0)).margin(1e-4));
}
