// BLAS as this program has it: its functions stand before those of the library, and count.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/einsum.h>
#include <heed/ops/kernels/targets.h>
#include <heed/ops/matmul.h>
#include <heed/ops/products.h>
#include <heed/ops/reshape.h>
#include <heed/ops/transpose.h>
using namespace heed;

namespace {

constexpr int as_it_lies = 111;  // CblasNoTrans
std::atomic<int> calls{0};

template <class T>
void multiply(int of_a, int of_b, int m, int n, int k, const T* a, int lda, const T* b, int ldb, T beta, T* c,
              int ldc) {
  ++calls;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += (of_a == as_it_lies ? a[i * lda + p] : a[p * lda + i]) *
               (of_b == as_it_lies ? b[p * ldb + j] : b[j * ldb + p]);
      }
      c[i * ldc + j] = sum + (beta == 0 ? T(0) : beta * c[i * ldc + j]);
    }
  }
}

bool has_avx2() {
  const std::vector<std::string> targets = kernels::simd_targets();
  return std::any_of(targets.begin(), targets.end(),
                     [](const auto& t) { return t == "AVX2" || t == "AVX3"; });
}

// A step of training, a product of f64 and one of factors that lie as columns.
void multiply_in_all_ways() {
  Generator generator(1);
  nn::CausalLM model({.vocab_size = 20, .context = 8, .num_layers = 1, .num_heads = 2, .embed_dim = 16},
                     generator);
  const Tensor tokens = from_span(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}, {1, 8});
  backward(cross_entropy(reshape(model(tokens), {8, 20}), reshape(tokens, {8})));
  const Tensor a = randn({30, 40}, generator, DType::f64);
  matmul(a, transpose(a));
  matmul(transpose(a), a);
  einsum("bij,bjk->bik", {randn({2, 3, 4}, generator), randn({2, 4, 5}, generator)});
}

}  // namespace

extern "C" {
void cblas_sgemm(int, int of_a, int of_b, int m, int n, int k, float, const float* a, int lda, const float* b,
                 int ldb, float beta, float* c, int ldc) {
  multiply(of_a, of_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
void cblas_dgemm(int, int of_a, int of_b, int m, int n, int k, double, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  multiply(of_a, of_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
}

TEST_CASE("on CPUs with AVX2 no function of BLAS is called", "[products]") {
  if (products() == Products::blas) return;  // HEED_PRODUCTS asked for it
  calls = 0;
  multiply_in_all_ways();
  CHECK((calls == 0) == has_avx2());
}

TEST_CASE("a program that asks for BLAS gets it for every product", "[products]") {
  const Products former = products();
  set_products(Products::blas);
  calls = 0;
  multiply_in_all_ways();
  CHECK(calls > 10);
  set_products(former);
}

// Run with HEED_PRODUCTS=bals; see tests/CMakeLists.txt.
TEST_CASE("a misspelt HEED_PRODUCTS is said, and nothing is multiplied", "[.misspelt]") {
  using Catch::Matchers::Message;
  const Tensor x = ones({2, 2});
  const std::string message =
      "HEED_PRODUCTS: nobody of this name multiplies, it is 'bals'; expected blas or own";
  CHECK_THROWS_MATCHES(products(), ValueError, Message(message));
  CHECK_THROWS_MATCHES(matmul(x, x), ValueError, Message(message));
}
