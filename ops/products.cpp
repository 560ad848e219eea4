#include <heed/ops/kernels/gemm.h>
#include <heed/ops/products.h>

namespace heed {

void set_products(Products products) { kernels::ask_for_blas(products == Products::blas); }

Products products() { return kernels::blas_is_asked_for() ? Products::blas : Products::own; }

}  // namespace heed
