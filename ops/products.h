#pragma once

namespace heed {

/// Who multiplies matrices.
enum class Products {
  /// heed's own kernels on CPUs with AVX2 or better, BLAS on others. A row of a product has the same
  /// bits alone and among any other rows.
  own,
  /// BLAS for every product, for those who bring a faster one. Rows are not promised to be alike.
  blas,
};

/// For all later products of the process. A BLAS that was built for an older CPU than this one is named on
/// standard error, once.
void set_products(Products products);
/// What was set, else what the environment variable HEED_PRODUCTS says, else `own`.
/// Throws    ValueError (HEED_PRODUCTS is neither empty nor "own" nor "blas"), as does the first product.
Products products();

}  // namespace heed
