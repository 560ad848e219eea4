// Products of every form: right within the bound of a chain of additions, and each row with the
// same bits alone and among others.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/cast.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/kernels/targets.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/products.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
}

#include "../support/same_bits.h"

using namespace heed;
using heed::test::same_bits;

namespace {

// How a factor lies in memory.
enum class Layout { rows, columns, rows_far_apart, scattered };
constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::rows_far_apart, Layout::scattered};

Tensor laid_out(Layout layout, std::int64_t rows, std::int64_t columns, DType dtype, Generator& generator) {
  switch (layout) {
    case Layout::rows:
      return randn({rows, columns}, generator, dtype);
    case Layout::columns:
      return transpose(randn({columns, rows}, generator, dtype));
    case Layout::rows_far_apart:
      return narrow(randn({rows, columns + 5}, generator, dtype), 1, 2, columns);
    case Layout::scattered:
      break;
  }
  const Tensor wide = randn({rows, columns, 3}, generator, dtype);
  return select(wide, 2, 1);
}

// |y − a b| against Σ|a||b|, in units of what a chain of k additions may lose.
double worst_error(const Tensor& a, const Tensor& b, const Tensor& y) {
  const Tensor wide_a = contiguous(cast(a, DType::f64)), wide_b = contiguous(cast(b, DType::f64));
  const auto x = wide_a.to_vector<double>(), z = wide_b.to_vector<double>();
  const auto found = cast(y, DType::f64).to_vector<double>();
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const double unit = a.dtype() == DType::f32 ? std::numeric_limits<float>::epsilon()
                                              : std::numeric_limits<double>::epsilon();
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const auto term = static_cast<long double>(x[static_cast<std::size_t>(i * k + p)]) *
                          z[static_cast<std::size_t>(p * n + j)];
        sum += term;
        size += std::abs(term);
      }
      const auto error = std::abs(static_cast<double>(sum - found[static_cast<std::size_t>(i * n + j)]));
      worst = std::max(worst, error / (static_cast<double>(size) * unit * static_cast<double>(k)));
    }
  }
  return worst;
}

// Every instruction set that this run may use; then those that it began with are back.
template <class Body>
void on_all_targets(const Body& body) {
  for (const std::string& target : kernels::simd_targets()) {
    INFO(target);
    REQUIRE(kernels::use_simd_target(target));
    body();
  }
  const char* chosen = std::getenv("HEED_SIMD");
  REQUIRE(kernels::use_simd_target(chosen == nullptr ? "" : chosen));
}

// Those whose products are heed's own.
template <class Body>
void on_own_targets(const Body& body) {
  on_all_targets([&] {
    if (!kernels::products_use_blas()) body();
  });
}

}  // namespace

TEST_CASE("products of factors that lie in any way are right", "[products]") {
  on_all_targets([] {
    Generator generator(1);
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Layout of_a : layouts) {
        for (const Layout of_b : layouts) {
          // Below and above the widths of panels, groups, blocks and packed depths.
          for (const auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                       {1, 37, 5},
                                       {3, 16, 64},
                                       {8, 50, 9},
                                       {9, 33, 17},
                                       {13, 65, 31},
                                       {25, 7, 259},
                                       {100, 40, 3},
                                       {5, 3, 600}}) {
            const Tensor a = laid_out(of_a, m, k, dtype, generator);
            const Tensor b = laid_out(of_b, k, n, dtype, generator);
            INFO(m << " " << n << " " << k << " layouts " << int(of_a) << " " << int(of_b));
            // A chain of k additions loses at most half a unit each; BLAS adds in blocks and loses less.
            CHECK(worst_error(a, b, matmul(a, b)) <= 1);
          }
        }
      }
    }
  });
}

TEST_CASE("a row of a product has the same bits for every number of rows and wherever it stands",
          "[products]") {
  on_own_targets([] {
    Generator generator(2);
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Layout of_a : layouts) {
        for (const Layout of_b : layouts) {
          for (const auto [n, k] : {std::array<std::int64_t, 2>{1, 40}, {37, 5}, {70, 1100}, {530, 64}}) {
            const Tensor a = laid_out(of_a, 110, k, dtype, generator);
            const Tensor b = laid_out(of_b, k, n, dtype, generator);
            const Tensor all = matmul(a, b);
            for (const auto [first, rows] : {std::array<std::int64_t, 2>{0, 1},
                                             {0, 2},
                                             {5, 3},
                                             {1, 8},
                                             {7, 9},
                                             {30, 13},
                                             {95, 15},
                                             {109, 1},
                                             {2, 97}}) {
              INFO(n << " " << k << " layouts " << int(of_a) << " " << int(of_b) << " rows " << first << " + "
                     << rows);
              CHECK(same_bits(matmul(narrow(a, 0, first, rows), b), narrow(all, 0, first, rows)));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("a row has the same bits in a product that threads share, by itself and in a batch", "[products]") {
  on_own_targets([] {
    Generator generator(3);
    const Tensor x = randn({700, 300}, generator), w = randn({400, 300}, generator),
                 bias = randn({400}, generator);
    const Tensor all = linear(x, w, bias);
    const Tensor batch = linear(reshape(x, {7, 100, 300}), w, bias);
    CHECK(same_bits(reshape(batch, {700, 400}), all));
    for (const std::int64_t row : {0, 1, 99, 350, 699}) {
      CHECK(same_bits(linear(narrow(x, 0, row, 1), w, bias), narrow(all, 0, row, 1)));
    }
  });
}

TEST_CASE("whoever multiplies is what was asked for", "[products]") {
  const Products former = products();
  set_products(Products::blas);
  CHECK(products() == Products::blas);
  CHECK(kernels::products_use_blas());
  set_products(Products::own);
  CHECK(products() == Products::own);
  set_products(former);
}

TEST_CASE("the threads that a program gives OpenBLAS change no bits and are still its own afterwards",
          "[products][fault-27]") {
  const Products former = products();
  const int threads = openblas_get_num_threads();
  Generator generator(4);
  const Tensor a = randn({300, 200}, generator), b = randn({200, 250}, generator);
  for (const Products by : {Products::own, Products::blas}) {
    set_products(by);
    const Tensor before = matmul(a, b);
    openblas_set_num_threads(4);
    CHECK(same_bits(matmul(a, b), before));
    CHECK(openblas_get_num_threads() == 4);
    openblas_set_num_threads(threads);
  }
  set_products(former);
}
