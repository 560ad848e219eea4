#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/print.h>

using namespace heed;
using Catch::Matchers::Message;

namespace {

template <class T>
void check_tensor(const Tensor& x, const Shape& shape, const std::vector<T>& values) {
  CHECK(x.shape() == shape);
  CHECK(x.dtype() == dtype_of<T>);
  CHECK(x.to_vector<T>() == values);
}

/// Every way to write the numbers 0 … 5 as a row of six, and as two rows of three.
template <class T>
void check_lists() {
  const std::vector<T> six = {T(0), T(1), T(2), T(3), T(4), T(5)};
  std::array<T, 6> array = {};
  std::copy(six.begin(), six.end(), array.begin());
  std::vector<std::vector<T>> rows = {{T(0), T(1), T(2)}, {T(3), T(4), T(5)}};
  const std::array<std::array<T, 3>, 2> fixed = {{{T(0), T(1), T(2)}, {T(3), T(4), T(5)}}};
  CAPTURE(name_of(dtype_of<T>));

  check_tensor<T>(tensor(six), {6}, six);
  check_tensor<T>(tensor(array), {6}, six);
  check_tensor<T>(tensor(std::span<T>(array)), {6}, six);
  check_tensor<T>(tensor(std::span<const T>(array)), {6}, six);
  check_tensor<T>(tensor({T(0), T(1), T(2), T(3), T(4), T(5)}), {6}, six);

  check_tensor<T>(tensor(six, {2, 3}), {2, 3}, six);
  check_tensor<T>(tensor(array, {2, 3}), {2, 3}, six);
  check_tensor<T>(tensor(std::span<const T>(array), {2, 3}), {2, 3}, six);
  check_tensor<T>(tensor({T(0), T(1), T(2), T(3), T(4), T(5)}, {2, 3}), {2, 3}, six);
  check_tensor<T>(tensor(rows), {2, 3}, six);
  check_tensor<T>(tensor(fixed), {2, 3}, six);
  check_tensor<T>(tensor({{T(0), T(1), T(2)}, {T(3), T(4), T(5)}}), {2, 3}, six);
  check_tensor<T>(tensor({{{T(0)}, {T(1)}, {T(2)}}, {{T(3)}, {T(4)}, {T(5)}}}), {2, 3, 1}, six);

  rows[1].pop_back();
  CHECK_THROWS_MATCHES(tensor(rows), ShapeError,
                       Message("tensor: lists differ in length, one along axis 1 has 2 elements; expected 3, "
                               "as the first has"));
  CHECK_THROWS_MATCHES(tensor(six, {4, 2}), ShapeError,
                       Message("tensor: number of elements differs, 6 values and the shape [4, 2]; expected "
                               "8 values"));
}

}  // namespace

TEST_CASE("tensors from vectors, arrays, spans and nested lists of every element type",
          "[tensor][fault-40]") {
  check_lists<bool>();
  check_lists<std::int32_t>();
  check_lists<std::int64_t>();
  check_lists<float>();
  check_lists<double>();
}

TEST_CASE("from_span deduces the element type", "[tensor][fault-40]") {
  std::vector<float> values = {1, 2, 3, 4};
  check_tensor<float>(from_span(values, {2, 2}), {2, 2}, values);
  check_tensor<float>(from_span(std::span(values), {4}), {4}, values);
  check_tensor<float>(from_span(std::span<const float>(values), {4}), {4}, values);
  check_tensor<int>(from_span(std::array{7, 8}, {2, 1}), {2, 1}, {7, 8});
}

TEST_CASE("ragged lists are refused at every depth, empty ones end the shape", "[tensor][fault-40]") {
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), ShapeError);
  CHECK_THROWS_AS(tensor({{1}, {2, 3}}), ShapeError);
  CHECK_THROWS_AS(tensor({{{1, 2}, {3, 4}}, {{5, 6}}}), ShapeError);
  CHECK_THROWS_MATCHES(tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7}}}), ShapeError,
                       Message("tensor: lists differ in length, one along axis 2 has 1 elements; expected 2, "
                               "as the first has"));
  CHECK_THROWS_AS(tensor(std::vector<std::vector<float>>{{}, {1}}), ShapeError);
  CHECK(tensor(std::vector<float>{}).shape() == Shape{0});
  CHECK(tensor<float>({}).shape() == Shape{0});
  CHECK(tensor(std::vector<std::vector<float>>{}).shape() == Shape{0});
  CHECK(tensor(std::vector<std::vector<float>>{{}, {}}).shape() == Shape{2, 0});
}

TEST_CASE("full_like, zeros_like and ones_like take shape and dtype", "[tensor][fault-48]") {
  const Tensor x = zeros({2, 1}, DType::i64);
  check_tensor<std::int64_t>(full_like(x, 7), {2, 1}, {7, 7});
  check_tensor<std::int64_t>(ones_like(x), {2, 1}, {1, 1});
  check_tensor<double>(full_like(zeros({2}, DType::f64).set_requires_grad(), 0.5), {2}, {0.5, 0.5});
  CHECK_FALSE(full_like(zeros({2}).set_requires_grad(), 1).requires_grad());
  CHECK_THROWS_AS(full_like(Tensor(), 1), ValueError);
  CHECK_THROWS_AS(zeros_like(Tensor()), ValueError);
}

TEMPLATE_TEST_CASE("NaN prints without the sign it may have", "[print][fault-40]", float, double) {
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const TestType infinity = std::numeric_limits<TestType>::infinity();
  const Tensor x = tensor({std::copysign(nan, TestType(1)), std::copysign(nan, TestType(-1)), -infinity});
  const std::string dtype(name_of(x.dtype()));
  CHECK(to_string(x) == dtype + "[3] [nan, nan, -inf]");
}
