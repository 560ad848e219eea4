#include <functional>

#include <catch2/catch.hpp>

#include <heed/core/arguments.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

// Triple loop over [.., m, k] and [.., k, n] with equal leading axes, or a 2-D second operand.
Array reference_matmul(const Array& a, const Array& b) {
  const std::int64_t k = a.shape.back();
  const std::int64_t m = a.shape[a.shape.rank() - 2];
  const std::int64_t n = b.shape.back();
  Array y{a.shape, {}};
  y.shape[y.shape.rank() - 1] = n;
  y.values.assign(static_cast<std::size_t>(element_count(y.shape)), 0.0);
  Shape leading = a.shape;
  leading.erase(leading.rank() - 1);
  leading.erase(leading.rank() - 1);
  const std::int64_t batches = element_count(leading);
  const std::int64_t b_step = b.shape.rank() == a.shape.rank() ? k * n : 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          total += a.values[static_cast<std::size_t>((batch * m + i) * k + l)] *
                   b.values[static_cast<std::size_t>(batch * b_step + l * n + j)];
        }
        y.values[static_cast<std::size_t>((batch * m + i) * n + j)] = total;
      }
    }
  }
  return y;
}

Reference product_reference = [](const std::vector<Array>& in) { return reference_matmul(in[0], in[1]); };

const Registration registration(
    {{"matmul", "2-D", {{{3, 4}}, {{4, 5}}}, binary(matmul), product_reference},
     {"matmul", "one row, one column", {{{1, 7}}, {{7, 1}}}, binary(matmul), product_reference},
     {"matmul", "batch", {{{2, 3, 4}}, {{2, 4, 2}}}, binary(matmul), product_reference},
     {"matmul", "batch by one matrix", {{{2, 2, 3, 4}}, {{4, 5}}}, binary(matmul), product_reference},
     {"matmul", "inner size 0", {{{3, 0}}, {{0, 4}}}, binary(matmul), product_reference},
     {"matmul", "no rows", {{{0, 5}}, {{5, 2}}}, binary(matmul), product_reference},
     {"matmul",
      "two vectors",
      {{{4}}, {{4}}},
      binary(matmul),
      [](const std::vector<Array>& in) {
        Array y{{}, {0.0}};
        for (std::size_t i = 0; i < in[0].values.size(); ++i)
          y.values[0] += in[0].values[i] * in[1].values[i];
        return y;
      }},
     {"addmm",
      "alpha and beta",
      {{{5}}, {{3, 4}}, {{4, 5}}},
      ternary([](const Tensor& c, const Tensor& a, const Tensor& b) { return addmm(c, a, b, 0.5, -2.0); }),
      [](const std::vector<Array>& in) {
        Array y = reference_matmul(in[1], in[2]);
        for (std::size_t i = 0; i < y.values.size(); ++i)
          y.values[i] = -2 * y.values[i] + 0.5 * in[0].values[i % 5];
        return y;
      }}},
    {throws<ShapeError>(
         "matmul", "inner sizes",
         [] {
           matmul(zeros({2, 3, 4}), zeros({5, 6}));
         },
         "matmul: inner dimensions differ, a is [2, 3, 4] and b is [5, 6]; expected a[-1] == b[-2]"),
     throws<ShapeError>(
         "matmul", "leading axes",
         [] {
           matmul(zeros({2, 3, 4}), zeros({3, 4, 5}));
         },
         "matmul: shapes do not broadcast, a is [2] and b is [3]; expected sizes equal or 1, aligned at "
         "the last axis"),
     throws<DTypeError>(
         "matmul", "dtypes",
         [] {
           matmul(zeros({2, 3}), zeros({3, 4}, DType::f64));
         },
         "matmul: dtypes differ, a is f32[2, 3] and b is f64[3, 4]; expected one dtype (use cast; 1.0f is "
         "f32)"),
     throws<ShapeError>(
         "addmm", "c does not fit",
         [] {
           addmm(zeros({4}), zeros({2, 3}), zeros({3, 5}));
         },
         "addmm: c does not broadcast, c is [4]; expected a shape that expands to [2, 5]")});

using Layout = std::function<Tensor(std::int64_t, std::int64_t, Generator&)>;

// An [m, n] operand of each layout that a caller can make with views.
std::vector<Layout> layouts() {
  return {[](auto m, auto n, auto& g) {
            return randn({m, n}, g, DType::f64);
          },
          [](auto m, auto n, auto& g) {
            return transpose(randn({n, m}, g, DType::f64)).detach();
          },
          [](auto m, auto n, auto& g) {  // every other row
            const Tensor x = randn({2 * m, n}, g, DType::f64);
            return view_of(x, slice_view("test", x.view(), 0, 0, std::nullopt, 2));
          },
          [](auto m, auto n, auto& g) {  // columns of a wider matrix
            const Tensor x = randn({m, n + 3}, g, DType::f64);
            return view_of(x, slice_view("test", x.view(), 1, 1, n + 1, 1));
          },
          [](auto m, auto n, auto& g) {  // every other column: neither axis has unit stride
            const Tensor x = randn({m, 2 * n}, g, DType::f64);
            return view_of(x, slice_view("test", x.view(), 1, 0, std::nullopt, 2));
          },
          [](auto m, auto n, auto& g) {  // one row repeated
            const Tensor x = randn({1, n}, g, DType::f64);
            return view_of(x, expand_view("test", x.view(), {m, n}));
          }};
}

// Sizes up to 17 with entries near 1: sums of 17 products round within 1e-13.
void require_product(Tensor a, Tensor b) {
  a.set_requires_grad();
  b.set_requires_grad();
  const Tensor y = matmul(a, b);
  const Array wanted = reference_matmul(to_array(a), to_array(b));
  const Array got = to_array(y);
  REQUIRE(got.shape == wanted.shape);
  for (std::size_t i = 0; i < got.values.size(); ++i)
    REQUIRE(got.values[i] == Approx(wanted.values[i]).margin(1e-12));
  backward(y, {.cotangent = ones(y.shape(), DType::f64)});
  const Array da = to_array(a.grad());
  const Array bv = to_array(b);
  const std::int64_t k = a.size(1);
  const std::int64_t n = b.size(1);
  for (std::int64_t l = 0; l < k; ++l) {
    double total = 0;
    for (std::int64_t j = 0; j < n; ++j) total += bv.values[static_cast<std::size_t>(l * n + j)];
    REQUIRE(da.values[static_cast<std::size_t>(l)] == Approx(total).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("matmul of every pair of layouts equals a triple loop") {
  Generator generator(3);
  for (const Layout& left : layouts()) {
    for (const Layout& right : layouts()) {
      for (const std::int64_t m : {1, 2, 3, 17}) {
        for (const std::int64_t k : {1, 2, 3, 17}) {
          for (const std::int64_t n : {1, 2, 3, 17})
            require_product(left(m, k, generator), right(k, n, generator));
        }
      }
    }
  }
}

TEST_CASE("a transposed view times a diagonal") {
  const Tensor x = tensor({1., 2., 3., 4., 5., 6.}, {3, 2});
  const Tensor diagonal = tensor({1., 0., 0., 0., 10., 0., 0., 0., 100.}, {3, 3});
  REQUIRE(matmul(transpose(x), diagonal).to_vector<double>() == std::vector<double>{1, 30, 500, 2, 40, 600});
}

TEMPLATE_TEST_CASE("an inner size of 0 gives zeros and zero gradients", "", float, double) {
  const DType dtype = dtype_of<TestType>;
  const auto check = [&](const Shape& a_shape, const Shape& b_shape, const Shape& y_shape) {
    Tensor a = zeros(a_shape, dtype).set_requires_grad();
    Tensor b = zeros(b_shape, dtype).set_requires_grad();
    const Tensor y = matmul(a, b);
    REQUIRE(y.shape() == y_shape);
    for (const TestType v : y.to_vector<TestType>()) REQUIRE(v == 0);
    backward(y, {.cotangent = ones(y_shape, dtype)});
    REQUIRE(a.grad().shape() == a_shape);
    REQUIRE(b.grad().shape() == b_shape);
  };
  check({3, 0}, {0, 4}, {3, 4});
  check({2, 3, 0}, {2, 0, 4}, {2, 3, 4});
  check({0, 5}, {5, 2}, {0, 2});
  Tensor weight = ones({2, 5}, dtype).set_requires_grad();
  backward(linear(zeros({0, 5}, dtype), weight), {.cotangent = zeros({0, 2}, dtype)});
  REQUIRE(weight.grad().to_vector<TestType>() == std::vector<TestType>(10, 0));
}

TEST_CASE("one tensor as both operands") {
  Tensor x = tensor({1., 2., 3., 4.}, {2, 2}).set_requires_grad();
  backward(matmul(x, x), {.cotangent = ones({2, 2}, DType::f64)});
  // d/dx Σ x x = 1 xᵀ + xᵀ 1: row sums of x along its rows and column sums along its columns.
  REQUIRE(x.grad().to_vector<double>() == std::vector<double>{7, 11, 9, 13});
}
