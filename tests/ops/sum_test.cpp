#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// Adds x up over the axes in `gone` (a bit each), divided by `divisor`.
Reference added(unsigned gone, Shape result, double divisor = 1) {
  return [=](const std::vector<Array>& in) {
    const Shape& shape = in[0].shape;
    Array y{result, std::vector<double>(static_cast<std::size_t>(element_count(result)), 0.0)};
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      auto rest = static_cast<std::int64_t>(i);
      std::int64_t at = 0;
      std::int64_t step = 1;
      for (int k = shape.rank() - 1; k >= 0; --k) {
        if ((gone & (1u << k)) == 0) {
          at += rest % shape[k] * step;
          step *= shape[k];
        }
        rest /= shape[k];
      }
      y.values[static_cast<std::size_t>(at)] += in[0].values[i] / divisor;
    }
    return y;
  };
}

Function summed(Shape axes, bool keepdim = false) {
  return unary([=](const Tensor& x) { return sum(x, axes, keepdim); });
}
Function averaged(Shape axes, bool keepdim = false) {
  return unary([=](const Tensor& x) { return mean(x, axes, keepdim); });
}

const Registration registration(
    {
        {"sum", "everything", {{{2, 3, 4}}}, unary([](const Tensor& x) { return sum(x); }), added(7, {})},
        {"sum", "last axis", {{{3, 40}}}, summed({-1}), added(2, {3})},
        {"sum", "first axis", {{{40, 3}}}, summed({0}), added(1, {3})},
        {"sum", "outer axes kept", {{{2, 3, 4}}}, summed({0, 2}, true), added(5, {1, 3, 1})},
        {"sum", "middle axis", {{{2, 3, 4}}}, summed({1}), added(2, {2, 4})},
        {"sum", "no axes", {{{}}}, summed({-1}), added(0, {})},
        {"sum", "of nothing", {{{0, 3}}}, summed({0}), added(1, {3})},
        {"sum", "no results", {{{0, 3}}}, summed({1}), added(2, {0})},
        {"mean", "everything", {{{4, 5}}}, unary([](const Tensor& x) { return mean(x); }), added(3, {}, 20)},
        {"mean", "last axis kept", {{{3, 5}}}, averaged({1}, true), added(2, {3, 1}, 5)},
        {"mean", "first axis", {{{6, 2}}}, averaged({0}), added(1, {2}, 6)},
    },
    {
        throws<DTypeError>(
            "sum", "boolean", [] { sum(zeros({2}, DType::boolean)); },
            "sum: dtype not supported, x is boolean[2]; expected i32 or i64 or f32 or f64"),
        throws<ValueError>(
            "sum", "an axis twice",
            [] {
              sum(zeros({2, 3}), {1, -1});
            },
            "sum: an axis is given twice, axes are [1, -1]; expected different axes"),
        throws<IndexError>(
            "sum", "axis",
            [] {
              sum(zeros({2, 3}), {2});
            },
            "sum: axis out of range, axis is 2 and the tensor has 2 axes; expected -2 <= axis < 2"),
        throws<DTypeError>(
            "mean", "integers", [] { mean(zeros({2}, DType::i64)); },
            "mean: dtype not supported, x is i64[2]; expected f32 or f64"),
    });

Tensor ramp(std::int64_t n) {
  Tensor x = empty({n});
  float* data = x.mutable_data<float>();
  for (std::int64_t i = 0; i < n; ++i) {
    data[i] = static_cast<float>(static_cast<double>(i) - static_cast<double>(n) / 2 + 0.5);
  }
  return x;
}

}  // namespace

TEST_CASE("f32 sums and means of many elements do not stick") {
  constexpr std::int64_t n = 20000000;
  CHECK(mean(ones({n})).item<float>() == 1.0f);
  CHECK(mean(ones({n, 2}), {0}).to_vector<float>() == std::vector<float>{1, 1});
  // The sum of 83 250 equal numbers in double is exact to 83 250 roundings of 2^-53; then one to float.
  CHECK(sum(full({83250}, 1.1f)).item<float>() == Approx(91575.002).epsilon(1e-6));
}

TEST_CASE("an antisymmetric ramp sums to zero for any number of threads") {
  const Tensor x = ramp(4374000);
  const int threads = num_threads();
  for (const int count : {1, 2, 3, 8}) {
    set_num_threads(count);
    CHECK(sum(x).item<float>() == 0.0f);
  }
  set_num_threads(threads);
}

TEST_CASE("long sums have the same bits for any number of threads and either layout of blocks") {
  Tensor x = empty({300, 2000});
  float* data = x.mutable_data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) data[i] = std::sin(static_cast<float>(i));
  const int threads = num_threads();
  set_num_threads(1);
  const auto columns = sum(x, {0}).to_vector<float>();
  const auto rows = sum(x, {1}).to_vector<float>();
  const float all = sum(x).item<float>();
  set_num_threads(4);
  CHECK(sum(x, {0}).to_vector<float>() == columns);
  CHECK(sum(x, {1}).to_vector<float>() == rows);
  CHECK(sum(x).item<float>() == all);
  set_num_threads(threads);
  for (const std::int64_t column : {0, 1023, 1024, 1999}) {
    double wanted = 0;
    for (std::int64_t i = 0; i < 300; ++i) wanted += static_cast<double>(data[i * 2000 + column]);
    // One rounding to float of a number below 64.
    CHECK(static_cast<double>(columns[static_cast<std::size_t>(column)]) == Approx(wanted).margin(4e-6));
  }
}

TEST_CASE("reductions of nothing") {
  CHECK(sum(zeros({0})).item<float>() == 0.0f);
  CHECK(std::isnan(mean(zeros({0})).item<float>()));
  CHECK(mean(zeros({0, 3}), {1}).shape() == Shape{0});
}

TEST_CASE("integer sums wrap") {
  CHECK(sum(tensor({std::int32_t{2147483647}, std::int32_t{1}})).item<std::int32_t>() == -2147483647 - 1);
}
