#include <atomic>
#include <cstdlib>
#include <string_view>

#include <heed/ops/kernels/gemm_blas.h>
#include <heed/ops/products.h>

namespace heed {
namespace {

std::atomic<Products>& chosen_products() {
  static std::atomic<Products> chosen = [] {
    const char* wish = std::getenv("HEED_PRODUCTS");
    const bool blas = wish != nullptr && std::string_view(wish) == "blas";
    if (blas) kernels::warn_of_old_blas_core();
    return blas ? Products::blas : Products::own;
  }();
  return chosen;
}

}  // namespace

void set_products(Products products) {
  if (products == Products::blas) kernels::warn_of_old_blas_core();
  chosen_products().store(products, std::memory_order_relaxed);
}

Products products() { return chosen_products().load(std::memory_order_relaxed); }

}  // namespace heed
